"""The permissions of `tradewind planner` are enough, and without any of them something stops working."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from e2e import objects, outcomes
from e2e.api import Api, ApiError
from e2e.conftest import AddNodes
from e2e.installation.conftest import KubeconfigOf, only
from e2e.installation.installation import NAMESPACE, ROOT, eventually, vacate
from e2e.installation.permissions import Permission, granted, without
from e2e.installation.service import BLINDNESS, Add, Service, sees_everything
from e2e.objects import Object
from e2e.plane import ControlPlane
from tradewind.cluster.guide import CONFIG_MAP
from tradewind.planner.gate import GATE
from tradewind.planner.plan_annotation import ANNOTATION

pytestmark = [only("kind"), pytest.mark.usefixtures("installed")]

ACCOUNT = LEASE = "tradewind-planner"
GRANTED = granted(ROOT / "manifests" / "base" / "planner-rbac.yaml")
WRITES = "tradewind_plan_writes_total"
GUIDES = "tradewind_guide_writes_total"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
_SIZE = "tradewind.dev/gang-min"

Start = Callable[[], Service]


@pytest.fixture
def start(plane: ControlPlane, api: Api, kubeconfig_of: KubeconfigOf) -> Iterator[Start]:
    """Starts planners, one of which leads soon after the last was killed."""
    started: list[Service] = []
    vacate(api, NAMESPACE, LEASE)

    def start() -> Service:
        started.append(Service(plane, "planner", kubeconfig=kubeconfig_of(ACCOUNT), lease_seconds=3))
        return started[-1]

    yield start
    for service in started:
        service.stop()
    vacate(api, NAMESPACE, LEASE)


class Scene(NamedTuple):
    """A node, and pods behind our gate: one has a place there, one has none, and one is half a gang."""

    api: Api
    namespace: str
    start: Start

    def pod(self, name: str) -> Object:
        return self.api.read(f"/api/v1/namespaces/{self.namespace}/pods/{name}")

    def held(self) -> bool:
        return bool(self.pod("small")["spec"].get("schedulingGates"))

    def events(self) -> list[Object]:
        items: list[Object] = self.api.read(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return items

    def lease(self) -> Object:
        """Empty where there is none."""
        try:
            return self.api.read(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}")
        except ApiError as error:
            if error.status != 404:
                raise
            return {}


@pytest.fixture
def scene(api: Api, namespace: str, add_nodes: AddNodes, start: Start) -> Scene:
    add_nodes(objects.node("host", cpu="4"))
    gate = [{"name": GATE}]
    api.create(objects.pod("small", namespace, schedulingGates=gate))
    api.create(objects.pod("large", namespace, schedulingGates=gate, cpu="100"))
    gang = {"tradewind.dev/gang": "pair", _SIZE: "2"}
    api.create(objects.pod("half", namespace, annotations=gang, schedulingGates=gate))
    return Scene(api, namespace, start)


@pytest.fixture(params=GRANTED, ids=str)
def lacking(request: pytest.FixtureRequest, api: Api) -> Iterator[Permission]:
    """The permission that the account does not have during the test."""
    with without(api, request.param, GRANTED):
        yield request.param


def test_permissions_are_enough(scene: Scene, add: Add) -> None:
    first = scene.start()
    sees_everything(first, add)
    eventually(lambda: not scene.held())
    small = scene.pod("small")
    assert ANNOTATION in small["metadata"]["annotations"]
    assert small["status"]["nominatedNodeName"] == "host"
    outcomes.event(scene.api, scene.namespace, "large", "Ungated")
    assert scene.lease()["spec"]["holderIdentity"] == first.pod
    first.stop()
    second = scene.start()
    eventually(lambda: second.metric(WRITES, kind="event", outcome="written") > 0)
    renewed = scene.lease()["spec"]["renewTime"]
    eventually(lambda: bool(scene.lease()["spec"]["renewTime"] != renewed))
    for service in (first, second):
        assert "403" not in service.log()
        assert "forbidden" not in service.log()


@pytest.mark.parametrize("lacking", [p for p in GRANTED if p.verb in BLINDNESS], indirect=True, ids=str)
def test_planner_that_may_not_look_is_not_ready(lacking: Permission, start: Start, add: Add) -> None:
    BLINDNESS[lacking.verb](start(), lacking.verb, lacking.resource, add)


@pytest.mark.parametrize("lacking", [p for p in GRANTED if p.verb not in BLINDNESS], indirect=True, ids=str)
def test_every_permission_to_write_is_needed(lacking: Permission, scene: Scene) -> None:
    CONSEQUENCES[str(lacking)](scene)


def plans_are_not_written(scene: Scene) -> None:
    service = scene.start()
    eventually(lambda: service.metric(WRITES, kind="ungate", outcome="failed") > 0)
    assert scene.held()


def nobody_is_nominated(scene: Scene) -> None:
    service = scene.start()
    eventually(lambda: service.metric(WRITES, kind="nominate", outcome="failed") > 0)
    eventually(lambda: not scene.held())
    assert "nominatedNodeName" not in scene.pod("small")["status"]


def nothing_is_said(scene: Scene) -> None:
    service = scene.start()
    eventually(lambda: service.metric(WRITES, kind="event", outcome="failed") > 0)
    assert not scene.events()


def what_was_said_is_not_renewed(scene: Scene) -> None:
    first = scene.start()
    outcomes.event(scene.api, scene.namespace, "half", "Unplaced")
    first.stop()
    second = scene.start()
    eventually(lambda: second.metric(WRITES, kind="event", outcome="failed") > 0)


def no_gang_is_known_by_its_job(scene: Scene) -> None:
    _gang_of_a_job(scene)
    service = scene.start()
    eventually(lambda: "jobs/ring" in service.log() and "403" in service.log())
    assert all(_SIZE not in pod["metadata"]["annotations"] for pod in _members(scene))


def no_gang_is_known_by_its_pod_group(scene: Scene) -> None:
    """The API need not be there: who may not ask does not get to know that."""
    _gang_of_a_job(scene)
    service = scene.start()
    eventually(lambda: "podgroups/ring" in service.log() and "403" in service.log())


def _gang_of_a_job(scene: Scene) -> None:
    """The Job's controller makes the members, which ask for more than any node has."""
    template = {
        "metadata": {"annotations": {"tradewind.dev/gang": "ring"}},
        "spec": {**objects.pod_spec(cpu="100"), "restartPolicy": "Never"},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ring", "namespace": scene.namespace},
        "spec": {"parallelism": 2, "template": template},
    }
    scene.api.create(job)
    eventually(lambda: bool(_members(scene)))


def _members(scene: Scene) -> list[Object]:
    pods = scene.api.read(f"/api/v1/namespaces/{scene.namespace}/pods")["items"]
    return [pod for pod in pods if pod["metadata"]["name"].startswith("ring-")]


def nobody_waits_for_replicas_to_come(scene: Scene) -> None:
    scene.api.create(objects.deployment("web", scene.namespace, replicas=2, schedulingGates=[{"name": GATE}]))
    service = scene.start()
    eventually(lambda: "replicasets/web-" in service.log() and "403" in service.log())
    eventually(lambda: not scene.held())


def nobody_leads(scene: Scene) -> None:
    service = scene.start()
    eventually(lambda: service.known("pods") > 0)
    eventually(lambda: "403" in service.log())
    assert not service.ready()
    assert not scene.lease()
    assert scene.held()


def nobody_leads_for_long(scene: Scene) -> None:
    service = scene.start()
    eventually(lambda: "no longer leads" in service.log())
    assert "403" in service.log()


def no_guide_is_made(scene: Scene) -> None:
    _remove_guide(scene.api)
    service = scene.start()
    eventually(lambda: service.metric(GUIDES, outcome="failed") > 0)
    assert [each for each in _config_maps(scene.api) if each["metadata"]["name"] == CONFIG_MAP] == []


def a_guide_stays_as_it_was(scene: Scene) -> None:
    _remove_guide(scene.api)
    metadata = {"name": CONFIG_MAP, "namespace": NAMESPACE}
    scene.api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"guide": "?"}})
    service = scene.start()
    eventually(lambda: service.metric(GUIDES, outcome="failed") > 0)
    assert scene.api.read(f"{MAPS}/{CONFIG_MAP}")["data"] == {"guide": "?"}
    _remove_guide(scene.api)


def _config_maps(api: Api) -> list[Object]:
    items: list[Object] = api.read(MAPS)["items"]
    return items


def _remove_guide(api: Api) -> None:
    """Whichever test has left one."""
    if any(each["metadata"]["name"] == CONFIG_MAP for each in _config_maps(api)):
        api.delete(f"{MAPS}/{CONFIG_MAP}")


# A permission that has no entry here has no proof that it is needed: its test fails.
CONSEQUENCES = {
    "patch pods": plans_are_not_written,
    "patch pods/status": nobody_is_nominated,
    "create events": nothing_is_said,
    "patch events": what_was_said_is_not_renewed,
    "get jobs": no_gang_is_known_by_its_job,
    "get podgroups": no_gang_is_known_by_its_pod_group,
    "get replicasets": nobody_waits_for_replicas_to_come,
    "create leases": nobody_leads,
    "get leases": nobody_leads,
    "patch leases": nobody_leads_for_long,
    "create configmaps": no_guide_is_made,
    "get configmaps": no_guide_is_made,
    "update configmaps": a_guide_stays_as_it_was,
}
