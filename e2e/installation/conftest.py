"""Fixtures: a control plane that holds one overlay after the other, and nothing else of Tradewind's."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e import fake
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
from e2e.plane import ControlPlane
from e2e.tradewind import Tls, Tradewind

Serve = Callable[[Tls | None], Tradewind]
Place = Callable[[], set[str]]


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
def account(installed: Installation, plane: ControlPlane, api: Api) -> Path:
    """A kubeconfig of the service account that the overlay gives its pods."""
    token = fake.service_account_token(api, NAMESPACE, installed.pod["spec"]["serviceAccountName"])
    return plane.token_kubeconfig(f"account-{installed.overlay}", token)


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
