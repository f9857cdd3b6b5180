"""`tradewind release` as people and the watchdog run it: no pod stays behind our gate."""

import itertools
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from e2e import fake, objects, outcomes, scheduler
from e2e.api import Api, path
from e2e.conftest import AddNodes, StartScheduler
from e2e.objects import Object
from e2e.plane import ControlPlane
from tradewind.controller.release import LEASE
from tradewind.kube.access import connect
from tradewind.kube.leader import Leader
from tradewind.planner.gate import GATE, OLD_GATE
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

_OTHER = "example.com/quota"
_PODS = 300
_PAGE = 500
_ROOT = Path(__file__).parents[1]


@pytest.fixture
def kubeconfig(plane: ControlPlane, api: Api, namespace: str) -> Iterator[Path]:
    """Somebody who may do what releasing needs, and no more."""
    with fake.existing(api, permission("releaser", namespace)):
        yield plane.user_kubeconfig("releaser")


def release(kubeconfig: Path, namespace: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tradewind", "release", f"--kubeconfig={kubeconfig}", *arguments]
    if any(argument.startswith("--if-stale") for argument in arguments):
        command.append(f"--namespace={namespace}")  # of the Lease
    return subprocess.run(
        command,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def create(api: Api, namespace: str, name: str, *gates: str) -> None:
    api.create(objects.pod(name, namespace, schedulingGates=[{"name": gate} for gate in gates]))


def gates(api: Api, namespace: str) -> dict[str, list[str]]:
    pods = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {
        pod["metadata"]["name"]: [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]
        for pod in pods
    }


def lease(namespace: str, renewed: datetime) -> Object:
    renew_time = renewed.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": namespace},
        "spec": {"holderIdentity": "planner", "leaseDurationSeconds": 1, "renewTime": renew_time},
    }


def test_our_gate_goes_and_others_stay(api: Api, namespace: str, kubeconfig: Path) -> None:
    create(api, namespace, "ours", GATE)
    create(api, namespace, "both", _OTHER, GATE, "example.com/second")
    create(api, namespace, "old", OLD_GATE)
    create(api, namespace, "all", OLD_GATE, _OTHER, GATE)
    create(api, namespace, "theirs", _OTHER)
    create(api, namespace, "nobodys")
    done = release(kubeconfig, namespace)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "Ungated 4 pods; Tradewind holds none any more.\n",
        "",
    )
    assert gates(api, namespace) == {
        "ours": [],
        "both": [_OTHER, "example.com/second"],
        "old": [],
        "all": [_OTHER],
        "theirs": [_OTHER],
        "nobodys": [],
    }
    assert release(kubeconfig, namespace).stdout == "Tradewind holds no pod.\n"


@pytest.mark.parametrize("held", [(), (GATE,)], ids=["ungated", "held"])
def test_plans_and_their_nominations_are_taken_back(
    api: Api, namespace: str, kubeconfig: Path, held: tuple[str, ...]
) -> None:
    create(api, namespace, "web", *held)
    create(api, namespace, "other")
    path = f"/api/v1/namespaces/{namespace}/pods"
    plan = PlanAnnotation("n", 1_000_000_000.0, nominated=True)
    planned = {"metadata": {"annotations": {ANNOTATION: plan.text()}}}
    api.patch(f"{path}/web/status", {**planned, "status": {"nominatedNodeName": "n"}})
    api.patch(f"{path}/other/status", {"status": {"nominatedNodeName": "n"}})
    assert release(kubeconfig, namespace).returncode == 0
    web, other = api.read(f"{path}/web"), api.read(f"{path}/other")
    assert "annotations" not in web["metadata"]
    assert "nominatedNodeName" not in web["status"]
    assert not web["spec"].get("schedulingGates")
    assert other["status"]["nominatedNodeName"] == "n", "not ours"


def test_many_pods_in_two_namespaces_are_scheduled(
    api: Api, namespace: str, kubeconfig: Path, add_nodes: AddNodes, start_scheduler: StartScheduler
) -> None:
    add_nodes(*(objects.node(f"n{number}", cpu="64", memory="256Gi") for number in range(4)))
    second = fake.add_namespace(api)
    held = [{"name": GATE}]
    # Others that wait are listed too: here they fill the first page of the namespace.
    api.create_all(objects.pod(f"a{i}", namespace, scheduler="nobody") for i in range(_PAGE))
    api.create_all(objects.pod(f"p{i}", namespace, schedulingGates=held) for i in range(_PODS))
    api.create_all(objects.pod(f"q{i}", second, schedulingGates=held) for i in range(10))
    start_scheduler(scheduler.configuration())
    done = release(kubeconfig, namespace)
    assert done.stdout == f"Ungated {_PODS + 10} pods; Tradewind holds none any more.\n"
    assert len(outcomes.bound_nodes(api, namespace, _PODS, seconds=90)) == _PODS
    fake.remove_namespace(api, second)


def test_what_cannot_be_ungated_is_told(plane: ControlPlane, api: Api, namespace: str) -> None:
    create(api, namespace, "web", GATE)
    with fake.existing(api, permission("reader", namespace, "list")):
        done = release(plane.user_kubeconfig("reader"), namespace)
    assert done.returncode == 1
    assert (
        f"Ungated 0 pods; 1 pod could not be ungated, the first of them {namespace}/web: "
        "the API server answers 403: " in done.stdout
    )
    stranger = release(plane.user_kubeconfig("stranger"), namespace)
    assert stranger.returncode == 1
    assert stranger.stderr.startswith("tradewind: the API server answers 403: pods is forbidden")
    assert gates(api, namespace) == {"web": [GATE]}


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(timedelta(minutes=3), id="not renewed for long"),
        pytest.param(timedelta(days=-1), id="not renewed, by a clock that was fast"),
        pytest.param(None, id="no Lease at all"),
    ],
)
def test_pods_of_a_planner_that_is_gone_are_ungated(
    api: Api, namespace: str, kubeconfig: Path, behind: timedelta | None
) -> None:
    create(api, namespace, "web", GATE)
    if behind is not None:
        api.create(lease(namespace, datetime.now(UTC) - behind))
    done = release(kubeconfig, namespace, "--if-stale", "2m")
    assert (done.returncode, done.stdout) == (0, "Ungated 1 pod; Tradewind holds none any more.\n")
    assert gates(api, namespace) == {"web": []}


def test_pods_of_a_planner_at_work_stay_held(
    plane: ControlPlane, api: Api, namespace: str, kubeconfig: Path
) -> None:
    create(api, namespace, "web", GATE)
    connected = connect(plane.kubeconfig)
    assert connected
    leads = threading.Event()
    leader = Leader(connected[1], namespace, LEASE, "planner", on_change=lambda _leading: leads.set())
    leader.start()
    try:
        assert leads.wait(60)
        done = release(kubeconfig, namespace, "--if-stale", "2m")
    finally:
        leader.stop()
    assert done.returncode == 0
    assert done.stdout.startswith(f"Nothing to do: Lease {namespace}/{LEASE} was renewed ")
    assert gates(api, namespace) == {"web": [GATE]}


def test_pods_that_a_planner_at_work_forgets_are_ungated(
    plane: ControlPlane, api: Api, namespace: str, kubeconfig: Path
) -> None:
    """The Lease is renewed all the while, and the pod is behind our gate alone."""
    create(api, namespace, "web", GATE)
    create(api, namespace, "queued", GATE, _OTHER)
    connected = connect(plane.kubeconfig)
    assert connected
    leads = threading.Event()
    leader = Leader(connected[1], namespace, LEASE, "planner", on_change=lambda _leading: leads.set())
    leader.start()
    try:
        assert leads.wait(60)
        create(api, namespace, "new", GATE)
        said = [""]
        deadline = time.monotonic() + 90
        while not said[-1].startswith("Ungated") and time.monotonic() < deadline:
            done = release(kubeconfig, namespace, "--if-stale", "30s")
            assert done.returncode == 0
            said.append(done.stdout)
        assert leader.leading
    finally:
        leader.stop()
    assert said[1].startswith(f"Nothing to do: Lease {namespace}/{LEASE} was renewed ")
    assert said[-1].endswith("; Tradewind holds none for 30 s or longer.\n")
    assert gates(api, namespace)["web"] == []
    assert gates(api, namespace)["queued"] == [GATE, _OTHER]


def test_a_planner_whose_clock_is_slow_is_at_work_too(api: Api, namespace: str, kubeconfig: Path) -> None:
    create(api, namespace, "web", GATE)
    long_ago = datetime(2001, 1, 1, tzinfo=UTC)
    api.create(lease(namespace, long_ago))
    end = threading.Event()

    def renew() -> None:
        for tick in itertools.count(1):
            if end.wait(0.2):
                return
            renewed = lease(namespace, long_ago + timedelta(seconds=tick))
            api.patch(path(renewed), {"spec": renewed["spec"]})

    planner = threading.Thread(target=renew)
    planner.start()
    try:
        done = release(kubeconfig, namespace, "--if-stale", "2m")
    finally:
        end.set()
        planner.join()
    assert (done.returncode, done.stdout) == (
        0,
        f"Nothing to do: Lease {namespace}/{LEASE} is being renewed.\n",
    )
    assert gates(api, namespace) == {"web": [GATE]}


def permission(user: str, namespace: str, *pod_verbs: str) -> list[Object]:
    verbs = list(pod_verbs or ("list", "patch"))
    pods = {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": verbs}
    leases = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [LEASE],
        "verbs": ["get"],
    }
    own = {"name": user, "namespace": namespace}
    return [*_role(user, "ClusterRole", {"name": user}, pods), *_role(user, "Role", own, leases)]


def _role(user: str, kind: str, metadata: Object, rule: Object) -> list[Object]:
    group = "rbac.authorization.k8s.io"
    bound = {
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        "roleRef": {"apiGroup": group, "kind": kind, "name": user},
    }
    return [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": metadata, "rules": [rule]},
        {"apiVersion": f"{group}/v1", "kind": f"{kind}Binding", "metadata": metadata, **bound},
    ]
