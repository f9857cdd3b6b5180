"""Fixtures: a control plane that holds one overlay after the other, and nothing else of Tradewind's."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e import fake, objects
from e2e.api import Api
from e2e.conftest import AddNodes
from e2e.installation.installation import (
    NAMESPACE,
    OVERLAYS,
    Installation,
    Shell,
    commands,
    place_pods,
    vacate,
)
from e2e.installation.service import Add
from e2e.plane import ControlPlane
from e2e.tradewind import Tls, Tradewind

Serve = Callable[[Tls | None], Tradewind]
Place = Callable[[], set[str]]
KubeconfigOf = Callable[[str], Path]


@pytest.fixture(scope="package")
def plane() -> Iterator[ControlPlane]:
    """Not the session's, whose tests keep Tradewind's namespace and roles for themselves."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="package")
def api(plane: ControlPlane) -> Iterator[Api]:
    with contextlib.closing(Api(plane.kubeconfig)) as api:
        yield api


@pytest.fixture
def heartbeat() -> None:
    """Only real clusters ask whether a node is alive."""


@pytest.fixture(scope="package")
def shell(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(plane, tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="package", params=OVERLAYS)
def installed(request: pytest.FixtureRequest, shell: Shell, api: Api) -> Iterator[Installation]:
    installation = Installation(shell, api, request.param)
    yield installation
    installation.remove()


@pytest.fixture(scope="package")
def pki(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates that the guide makes."""
    directory = tmp_path_factory.mktemp("guide")
    Shell(plane, directory).run(commands("### 1. Certificates"))
    return directory / "tradewind-pki"


@pytest.fixture
def kubeconfig_of(installed: Installation, plane: ControlPlane, api: Api) -> KubeconfigOf:
    """A kubeconfig of a service account of the overlay."""

    def kubeconfig(account: str) -> Path:
        token = fake.service_account_token(api, NAMESPACE, account)
        return plane.token_kubeconfig(f"{account}-{installed.overlay}", token)

    return kubeconfig


@pytest.fixture
def account(installed: Installation, kubeconfig_of: KubeconfigOf) -> Path:
    """Of the pods that answer kube-scheduler."""
    return kubeconfig_of(installed.pod["spec"]["serviceAccountName"])


@pytest.fixture
def add(api: Api, namespace: str, add_nodes: AddNodes) -> Iterator[Add]:
    """Adds an object of a resource that our processes watch."""
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


@pytest.fixture
def serve(plane: ControlPlane, account: Path) -> Iterator[Serve]:
    """Starts the service under its account."""
    started: list[Tradewind] = []

    def start(tls: Tls | None) -> Tradewind:
        pod = {"POD_NAME": "tradewind-0", "POD_NAMESPACE": NAMESPACE}
        started.append(Tradewind(plane.workspace, account, tls=tls, environment=pod))
        return started[-1]

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def place(api: Api, namespace: str, add_nodes: AddNodes) -> Place:
    """Places pods through the cluster's own kube-scheduler."""
    vacate(api, "kube-system", "kube-scheduler")
    return lambda: place_pods(api, namespace, add_nodes, "default-scheduler")


def only(*overlays: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("installed", overlays, indirect=True)
