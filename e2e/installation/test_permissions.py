"""The permissions of `tradewind serve` are enough, and without any of them something stops working."""

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import urllib3

from e2e import fake, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes
from e2e.installation.conftest import only
from e2e.installation.installation import NAMESPACE, ROOT, eventually
from e2e.installation.permissions import Permission, granted, without
from e2e.plane import ControlPlane
from e2e.processes import free_port

# kind is the overlay that gives this account no permission beyond the base's.
pytestmark = [pytest.mark.local_only, only("kind"), pytest.mark.usefixtures("installed")]

POD = "tradewind-0"
GRANTED = granted(ROOT / "manifests" / "base" / "rbac.yaml")
WATCHED = ["namespaces", "nodes", "pods"]

Add = Callable[[str], None]


class Service:
    """The service under its account; unlike elsewhere, it may never get ready."""

    def __init__(self, plane: ControlPlane, account: Path) -> None:
        port, probe_port = free_port(), free_port()
        self._probes = f"http://127.0.0.1:{probe_port}"
        self._configuration = plane.workspace.directory / f"tradewind-{port}.yaml"
        self._configuration.write_text((ROOT / "manifests" / "base" / "tradewind.yaml").read_text())
        flags = [f"--port={port}", f"--probe-port={probe_port}", f"--kubeconfig={account}"]
        command = [sys.executable, "-m", "extender", "serve", *flags, f"--config={self._configuration}"]
        environment = {"POD_NAME": POD, "POD_NAMESPACE": NAMESPACE}
        self.process = plane.workspace.start(f"tradewind-{port}", command, environment=environment)
        self.process.wait_healthy(f"{self._probes}/healthz")

    def ready(self) -> bool:
        return urllib3.request("GET", f"{self._probes}/readyz").status == 200

    def known(self, resource: str) -> float:
        """How many objects of the resource are in the cluster state."""
        text = urllib3.request("GET", f"{self._probes}/metrics").data.decode()
        sample = re.search(rf'^tradewind_cluster_objects{{resource="{resource}"}} (\S+)', text, re.MULTILINE)
        return float(sample[1]) if sample else 0

    def knows_more_than(self, count: float, resource: str) -> bool:
        return self.known(resource) > count

    def refusals(self, verb: str, resource: str) -> int:
        """How often the API server has refused that, by the service's own log."""
        return len(re.findall(rf'cannot {verb} resource \\*"{resource}\\*"', self.process.log.read_text()))

    def break_configuration(self) -> None:
        self._configuration.write_text("weights: {price: -1}")


@pytest.fixture
def start(plane: ControlPlane, account: Path) -> Iterator[Callable[[], Service]]:
    started: list[Service] = []

    def start() -> Service:
        started.append(Service(plane, account))
        return started[-1]

    yield start
    for service in started:
        service.process.stop()


@pytest.fixture
def add(api: Api, namespace: str, add_nodes: AddNodes) -> Iterator[Add]:
    """Adds an object of a resource that the service watches."""
    namespaces: list[str] = []

    def add(resource: str) -> None:
        if resource == "nodes":
            add_nodes(objects.node("late"))
        elif resource == "pods":
            api.create(objects.pod("late", namespace))
        else:
            namespaces.append(fake.add_namespace(api, "late"))

    yield add
    for name in namespaces:
        fake.remove_namespace(api, name)


@pytest.fixture(params=GRANTED, ids=str)
def lacking(request: pytest.FixtureRequest, api: Api) -> Iterator[Permission]:
    """The permission that the account does not have during the test."""
    with without(api, request.param, GRANTED):
        yield request.param


def test_permissions_are_enough(start: Callable[[], Service], api: Api, add: Add) -> None:
    service = start()
    eventually(service.ready)
    for resource in WATCHED:
        before = service.known(resource)
        add(resource)
        eventually(partial(service.knows_more_than, before, resource))
    service.break_configuration()
    outcomes.event(api, NAMESPACE, POD, "ConfigurationRefused")
    assert "forbidden" not in service.process.log.read_text()


def test_every_permission_is_needed(lacking: Permission, start: Callable[[], Service], add: Add) -> None:
    CONSEQUENCES[lacking.verb](start(), lacking.verb, lacking.resource, add)


def never_ready(service: Service, verb: str, resource: str, add: Add) -> None:
    others = [other for other in WATCHED if other != resource]
    for other in others:
        add(other)
    eventually(lambda: all(service.known(other) > 0 for other in others))
    eventually(lambda: service.refusals(verb, resource) > 1)
    assert not service.ready()


def blind_to_changes(service: Service, verb: str, resource: str, add: Add) -> None:
    eventually(service.ready)
    before = service.known(resource)
    add(resource)
    refused = service.refusals(verb, resource)
    eventually(lambda: service.refusals(verb, resource) > refused)
    assert service.known(resource) == before


def silent_about_its_configuration(service: Service, verb: str, resource: str, _add: Add) -> None:
    service.break_configuration()
    eventually(lambda: service.refusals(verb, resource) > 0)


# A permission of another verb has no entry here, and so no proof that it is needed: its test fails.
CONSEQUENCES = {
    "list": never_ready,
    "watch": blind_to_changes,
    "create": silent_about_its_configuration,
}
