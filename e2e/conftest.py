"""Fixtures: one control plane a session, a namespace and fake nodes a test.

`--kind` runs those marked `kind` on a kind cluster, through the Tradewind and the kube-scheduler inside it.
All others start Tradewinds, planners and kube-schedulers of their own, which the local plane alone allows.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e import fake, manifests, scheduler
from e2e.api import Api
from e2e.kind import Heartbeat, KindCluster
from e2e.kubelets import Kubelets
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.processes import Process
from e2e.tradewind import Planner, Tradewind
from tradewind.cluster.guide import CONFIG_MAP

AddNodes = Callable[..., list[str]]
StartScheduler = Callable[[Mapping[str, Any]], Process]
StartPlanner = Callable[..., Planner]  # settings, switches

_numbers = itertools.count(1)


def next_name(kind: str) -> str:
    """For a process, whose log carries it."""
    return f"{kind}-{next(_numbers)}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kind", action="store_true", help="run on a kind cluster (needs Docker)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "kind: runs with --kind too, so it starts no process of its own")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--kind"):
        skip = pytest.mark.skip(reason="not marked kind")
        for item in items:
            if not item.get_closest_marker("kind"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="session")
def kind_cluster() -> Iterator[KindCluster]:
    with KindCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The admin's access to the cluster under test."""
    cluster = "kind_cluster" if request.config.getoption("--kind") else "plane"
    with contextlib.closing(Api(request.getfixturevalue(cluster).kubeconfig)) as api:
        yield api


@pytest.fixture(scope="session")
def heartbeat(request: pytest.FixtureRequest, api: Api) -> Iterator[Heartbeat | None]:
    """Nothing to do on the local plane, where nobody asks whether a node is alive."""
    if not request.config.getoption("--kind"):
        yield None
        return
    beating = Heartbeat(api)
    yield beating
    beating.stop()


@pytest.fixture
def add_nodes(api: Api, heartbeat: Heartbeat | None) -> Iterator[AddNodes]:
    """Adds fake nodes for one test."""
    names: list[str] = []

    def add(*nodes: Object) -> list[str]:
        names.extend(node["metadata"]["name"] for node in nodes)
        if heartbeat:
            heartbeat.add([node["metadata"]["name"] for node in nodes])
        return fake.add_nodes(api, nodes)

    yield add
    fake.remove_nodes(api, names)
    if heartbeat:
        heartbeat.remove(names)


@pytest.fixture
def namespace(api: Api, add_nodes: AddNodes) -> Iterator[str]:
    """A namespace for one test; asks for `add_nodes` so that its pods go before their nodes."""
    del add_nodes
    name = fake.add_namespace(api)
    yield name
    fake.remove_namespace(api, name)


@pytest.fixture
def held(api: Api, add_nodes: AddNodes) -> Iterator[str]:
    """A namespace whose pods are held, for one test; asks for `add_nodes` like `namespace`."""
    del add_nodes
    name = fake.add_namespace(api, held=True)
    yield name
    fake.remove_namespace(api, name)


@pytest.fixture
def kubelets(api: Api) -> Iterator[Kubelets]:
    """Pods on nodes become Ready, for one test."""
    started = Kubelets(api)
    yield started
    started.stop()


@pytest.fixture
def movable(api: Api, add_nodes: AddNodes, kubelets: Kubelets) -> Iterator[str]:
    """A namespace whose pods are held and may be moved, for one test."""
    del add_nodes, kubelets
    name = fake.add_namespace(api, held=True)
    with fake.existing(api, manifests.component_roles("moves")):
        yield name
    fake.remove_namespace(api, name)
    records = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps"
    api.delete(records, fieldSelector="metadata.name=tradewind-moves")


@pytest.fixture
def start_scheduler(plane: ControlPlane) -> Iterator[StartScheduler]:
    """Starts kube-schedulers for one test."""
    started: list[Process] = []

    def start(configuration: Mapping[str, Any]) -> Process:
        started.append(plane.start_scheduler(configuration, next_name("kube-scheduler")))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture(scope="session")
def role_kubeconfig(plane: ControlPlane, api: Api) -> Path:
    """The service account of the manifests, with exactly the roles that they give it."""
    for obj in manifests.roles(plane):
        api.create(obj)
    token = fake.service_account_token(api, manifests.NAMESPACE, manifests.SERVICE_ACCOUNT)
    return plane.token_kubeconfig(manifests.SERVICE_ACCOUNT, token)


@pytest.fixture(scope="session")
def planner_kubeconfig(plane: ControlPlane, api: Api, role_kubeconfig: Path) -> Path:
    """The planner's own service account."""
    del role_kubeconfig  # brings all roles of the manifests
    account = manifests.PLANNER_ACCOUNT
    return plane.token_kubeconfig(account, fake.service_account_token(api, manifests.NAMESPACE, account))


@pytest.fixture
def tradewind(plane: ControlPlane, role_kubeconfig: Path) -> Iterator[Tradewind]:
    service = Tradewind(plane.workspace, role_kubeconfig, name=next_name("tradewind"))
    yield service
    service.stop()


@pytest.fixture
def max_backoff_seconds() -> int:
    """Of the kube-scheduler of `scheduling`; its own, unless a file says otherwise."""
    return 10


@pytest.fixture
def scheduling(tradewind: Tradewind, start_scheduler: StartScheduler, max_backoff_seconds: int) -> None:
    """A kube-scheduler that asks Tradewind."""
    entry = scheduler.extender(tradewind.url, weight=10, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry], max_backoff_seconds=max_backoff_seconds))


@pytest.fixture
def start_planner(plane: ControlPlane, api: Api, planner_kubeconfig: Path) -> Iterator[StartPlanner]:
    """Starts planners for one test; as long as one leads, pods of held namespaces wait for its plan."""
    started: list[Planner] = []

    def start(settings: Mapping[str, Any], *switches: str) -> Planner:
        name = next_name("planner")
        started.append(
            Planner(plane.workspace, planner_kubeconfig, settings=settings, name=name, switches=switches)
        )
        if len(started) == 1:
            started[0].wait_leading()
            manifests.wait_holding(api)
        return started[-1]

    with fake.existing(api, manifests.hold(plane)):
        yield start
        for planner in started:
            planner.stop()


@pytest.fixture(autouse=True)
def forget_guides(request: pytest.FixtureRequest) -> Iterator[None]:
    """After its planners are gone: the next test's Tradewind would follow a guide of this one's nodes."""
    planned = "planner_kubeconfig" in request.fixturenames
    api: Api | None = request.getfixturevalue("api") if planned else None
    yield
    if api is not None:
        config_maps = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps"
        api.delete(config_maps, fieldSelector=f"metadata.name={CONFIG_MAP}")


@pytest.fixture
def scheduler_name(request: pytest.FixtureRequest) -> str:
    """The schedulerName of pods that are placed through Tradewind."""
    if not request.config.getoption("--kind"):
        request.getfixturevalue("scheduling")
    return scheduler.DEFAULT
