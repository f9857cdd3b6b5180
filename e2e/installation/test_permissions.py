"""The permissions of `tradewind serve` are enough, and without any of them something stops working."""

from collections.abc import Callable, Iterator

import pytest

from e2e import objects, outcomes
from e2e.api import Api
from e2e.installation.conftest import KubeconfigOf, only
from e2e.installation.installation import NAMESPACE, ROOT, eventually
from e2e.installation.permissions import Permission, granted, without
from e2e.installation.service import BLINDNESS, Add, Service, sees_everything
from e2e.plane import ControlPlane
from e2e.processes import free_port

# kind is the overlay that gives this account no permission beyond the base's.
pytestmark = [only("kind"), pytest.mark.usefixtures("installed")]

GRANTED = granted(ROOT / "manifests" / "base" / "rbac.yaml")

Start = Callable[[], Service]


@pytest.fixture
def start(plane: ControlPlane, kubeconfig_of: KubeconfigOf) -> Iterator[Start]:
    started: list[Service] = []

    def start() -> Service:
        kubeconfig = kubeconfig_of("tradewind")
        started.append(Service(plane, "serve", kubeconfig=kubeconfig, port=free_port(), explain_port=0))
        return started[-1]

    yield start
    for service in started:
        service.stop()


@pytest.fixture(params=GRANTED, ids=str)
def lacking(request: pytest.FixtureRequest, api: Api) -> Iterator[Permission]:
    """The permission that the account does not have during the test."""
    with without(api, request.param, GRANTED):
        yield request.param


def test_permissions_are_enough(start: Start, api: Api, add: Add) -> None:
    service = start()
    sees_everything(service, add)
    service.break_configuration()
    outcomes.event(api, NAMESPACE, service.pod, "ConfigurationRefused")
    assert "forbidden" not in service.log()


def test_every_permission_is_needed(lacking: Permission, start: Start, add: Add) -> None:
    consequence = CONSEQUENCES.get(str(lacking)) or CONSEQUENCES[lacking.verb]
    consequence(start(), lacking.verb, lacking.resource, add)


def silent_about_its_configuration(service: Service, verb: str, resource: str, _add: Add) -> None:
    service.break_configuration()
    eventually(lambda: service.refusals(verb, resource) > 0)


def without_waking(service: Service, verb: str, resource: str, add: Add) -> None:
    """A rejected pod that would be accepted now waits for kube-scheduler's own retry."""
    eventually(service.ready)
    service.configure({"rules": {"disk_type": {"policy": "required"}}})
    before = service.known("nodes")
    add("nodes")
    eventually(lambda: service.knows_more_than(before, "nodes"))
    picky = objects.pod("picky", "default", annotations={"tradewind.dev/disk-type": "nvme"})
    request = {"Pod": picky, "NodeNames": ["late"]}
    eventually(lambda: service.post("/filter", request)["NodeNames"] == [])
    service.configure({"rules": {"disk_type": {"policy": "preferred"}}})
    eventually(lambda: service.refusals(verb, resource) > 0)


def without_a_guide(service: Service, verb: str, resource: str, _add: Add) -> None:
    """And nothing else: scores do without."""
    eventually(service.ready)
    eventually(lambda: service.refusals(verb, resource) > 0)
    assert service.metric("tradewind_guide_followed") == 0


# A permission of another verb has no entry here, and so no proof that it is needed: its test fails.
CONSEQUENCES = BLINDNESS | {
    "create": silent_about_its_configuration,
    "patch": without_waking,
    "list configmaps": without_a_guide,
    "watch configmaps": without_a_guide,
}
