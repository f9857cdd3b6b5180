"""The second kube-scheduler under the account of its pods: it leads, places, and needs all it was given."""

import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from e2e.api import Api, path
from e2e.conftest import AddNodes
from e2e.installation.conftest import Serve, only
from e2e.installation.installation import (
    NAMESPACE,
    Installation,
    eventually,
    place_pods,
    scheduler_configuration,
    vacate,
)
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.processes import Process, free_port

pytestmark = only("second-scheduler")

LEASE = scheduler_configuration("second-scheduler")["leaderElection"]["resourceName"]
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"
# What kube-scheduler says without each of the overlay's own bindings.
REFUSALS = {
    "tradewind-kube-scheduler": 'cannot list resource "poddisruptionbudgets"',
    "tradewind-volume-scheduler": 'cannot list resource "storageclasses"',
    "tradewind-authentication-reader": 'cannot get resource "configmaps"',
    "tradewind-scheduler-lease": 'cannot get resource "leases"',
}

UNVERIFIED = pytest.mark.filterwarnings("ignore:Unverified HTTPS request")

Start = Callable[[str], Process]


@pytest.fixture
def start(installed: Installation, plane: ControlPlane, api: Api, account: Path) -> Iterator[Start]:
    """Starts kube-scheduler as its container does; what a pod finds by itself is given by flags."""
    started: list[Process] = []
    vacate(api, NAMESPACE, LEASE)

    def start(url: str) -> Process:
        port = free_port()
        file = plane.workspace.directory / f"second-{port}.yaml"
        connection = {"clientConnection": {"kubeconfig": str(account)}}
        file.write_text(yaml.safe_dump(scheduler_configuration(installed.overlay, url) | connection))
        flags = [f"--authentication-kubeconfig={account}", f"--authorization-kubeconfig={account}"]
        flags += [f"--config={file}", f"--secure-port={port}", "--bind-address=127.0.0.1"]
        address = f"https://127.0.0.1:{port}"
        started.append(
            plane.workspace.start(f"second-{port}", [plane.programs.kube_scheduler, *flags], address)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def without(request: pytest.FixtureRequest, installed: Installation, api: Api) -> Iterator[str]:
    """Takes one of the overlay's bindings away; gives its name."""
    (binding,) = bindings(installed, request.param)
    api.delete(path(binding))
    yield request.param
    api.create(binding)


def bindings(installed: Installation, name: str) -> list[Object]:
    return [
        obj
        for obj in installed.objects
        if obj["kind"].endswith("Binding") and obj["metadata"]["name"] == name
    ]


def test_pods_that_ask_for_it_are_placed_through_us(
    *, serve: Serve, start: Start, api: Api, namespace: str, add_nodes: AddNodes
) -> None:
    start(serve(None).url)
    assert place_pods(api, namespace, add_nodes, "tradewind") == {"cheap"}
    assert api.read(LEASE_PATH)["spec"]["holderIdentity"]


@UNVERIFIED
def test_probes_are_answered_without_credentials(installed: Installation, start: Start) -> None:
    (scheduler,) = installed.pod["spec"]["containers"]
    process = start("")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        process.wait_healthy(f"{process.address}{scheduler[probe]['httpGet']['path']}", unverified())


def unverified() -> ssl.SSLContext:
    """As kubelet does: the certificate is one that kube-scheduler signed itself when it started."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@UNVERIFIED
def test_standby_is_ready_too(start: Start) -> None:
    both = [start(""), start("")]
    for process in both:
        process.wait_healthy(f"{process.address}/readyz", unverified())
    eventually(lambda: sum("successfully acquired lease" in log_of(each).lower() for each in both) == 1)


def log_of(process: Process) -> str:
    return process.log.read_text().replace("\\", "")


@pytest.mark.parametrize("without", REFUSALS, indirect=True)
def test_every_binding_is_needed(without: str, start: Start) -> None:
    process = start("")
    eventually(lambda: REFUSALS[without] in log_of(process))


def test_every_binding_of_the_overlay_is_tried(installed: Installation) -> None:
    account = installed.pod["spec"]["serviceAccountName"]
    names = {
        obj["metadata"]["name"]
        for obj in installed.objects
        if obj["kind"].endswith("RoleBinding") and obj["subjects"][0]["name"] == account
    }
    assert names - {account} == set(REFUSALS)
