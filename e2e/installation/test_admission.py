"""A token of ours changes the fields of pods that Tradewind writes, and nothing else."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from e2e import fake, objects
from e2e.api import Api, ApiError, path
from e2e.conftest import AddNodes
from e2e.installation.conftest import KubeconfigOf, only
from e2e.installation.installation import NAMESPACE, eventually
from e2e.objects import Object
from e2e.plane import ControlPlane
from extender.waker import WOKEN
from tradewind.planner.gate import GATE, OLD_GATE

pytestmark = [only("kind"), pytest.mark.usefixtures("installed")]

PLANNER, WATCHDOG, EXTENDER = "tradewind-planner", "tradewind-watchdog", "tradewind"
PLAN, MOVE = "tradewind.dev/plan", "tradewind.dev/move"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
FOREIGN = "example.com/quota"
# By the API server, on every pod.
TOLERATED = [
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
]

As = Callable[[str], Api]


@pytest.fixture
def use(kubeconfig_of: KubeconfigOf) -> Iterator[As]:
    """The API server under one of our accounts."""
    with contextlib.ExitStack() as stack:
        yield lambda account: stack.enter_context(contextlib.closing(Api(kubeconfig_of(account))))


@pytest.fixture
def pod(api: Api, use: As, namespace: str) -> str:
    """A pod behind gates, once the API server enforces the policies."""
    gates = [{"name": name} for name in (GATE, OLD_GATE, FOREIGN)]
    made = objects.pod("pod", namespace, schedulingGates=gates)
    made["metadata"]["annotations"] = {"example.com/owner": "team"}
    found = path(api.create(made))
    for account in (PLANNER, WATCHDOG):
        eventually(partial(is_refused, use(account), found, annotated({"example.com/a": "b"})))
    return found


def annotated(annotations: dict[str, str | None]) -> Object:
    return {"metadata": {"annotations": annotations}}


def is_refused(api: Api, path: str, patch: Object) -> bool:
    """Whether a policy refuses the patch, which is not made in any case."""
    content_type = "application/strategic-merge-patch+json"
    try:
        api.request("PATCH", path, patch, content_type=content_type, query={"dryRun": "All"})
    except ApiError as error:
        if "ValidatingAdmissionPolicy" not in str(error):
            raise
        return True
    return False


def gates(*names: str) -> Object:
    return {"spec": {"schedulingGates": [{"$patch": "delete", "name": name} for name in names]}}


OURS: dict[str, tuple[str, Object]] = {
    "a plan": ("", annotated({PLAN: "{}"})),
    "a reservation": ("", annotated({MOVE: "{}"})),
    "a hint": ("", annotated({"tradewind.dev/node": "n1"})),
    "a deletion cost": ("", annotated({DELETION_COST: "1"})),
    "our gates": ("", gates(GATE, OLD_GATE)),
    "a plan without our gates": ("", annotated({PLAN: "{}"}) | gates(GATE, OLD_GATE)),
    "a nomination": ("/status", {"status": {"nominatedNodeName": "n1"}}),
    "a nomination and a plan": ("/status", annotated({PLAN: "{}"}) | {"status": {"nominatedNodeName": "n1"}}),
}

NOT_OURS: dict[str, tuple[str, Object]] = {
    "an image": ("", {"spec": {"containers": [{"name": "main", "image": "evil"}]}}),
    "an image with our gate": (
        "",
        {"spec": {"containers": [{"name": "main", "image": "evil"}], **gates(GATE)["spec"]}},
    ),
    "a deadline": ("", {"spec": {"activeDeadlineSeconds": 1}}),
    "a toleration": ("", {"spec": {"tolerations": [*TOLERATED, {"key": "a", "operator": "Exists"}]}}),
    "a node selector": ("", {"spec": {"nodeSelector": {"a": "b"}}}),
    "a label": ("", {"metadata": {"labels": {"app": "other"}}}),
    "a finalizer": ("", {"metadata": {"finalizers": ["example.com/stay"]}}),
    "an annotation": ("", annotated({"example.com/a": "b"})),
    "another's annotation": ("", annotated({"example.com/owner": "me"})),
    "the end of another's annotation": ("", annotated({"example.com/owner": None})),
    "another's gate": ("", gates(FOREIGN)),
    "a label by the status": ("/status", {"metadata": {"labels": {"app": "other"}}}),
    "an annotation by the status": ("/status", annotated({"example.com/a": "b"})),
    "a phase": ("/status", {"status": {"phase": "Failed"}}),
    "a condition": ("/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
}


@pytest.mark.parametrize(("subresource", "patch"), OURS.values(), ids=OURS)
def test_planner_changes_what_it_writes(use: As, pod: str, subresource: str, patch: Object) -> None:
    assert not is_refused(use(PLANNER), pod + subresource, patch)


@pytest.mark.parametrize(("subresource", "patch"), NOT_OURS.values(), ids=NOT_OURS)
def test_planner_changes_nothing_else(use: As, pod: str, subresource: str, patch: Object) -> None:
    assert is_refused(use(PLANNER), pod + subresource, patch)


def test_watchdog_removes_our_gates_and_no_more(use: As, pod: str) -> None:
    watchdog = use(WATCHDOG)
    assert not is_refused(watchdog, pod, gates(GATE))
    for subresource, patch in NOT_OURS.values():
        if not subresource:
            assert is_refused(watchdog, pod, patch)
    assert is_refused(watchdog, pod, annotated({PLAN: "{}"}))


@pytest.mark.parametrize("key", [PLAN, MOVE])
def test_nobody_but_the_planner_plans(api: Api, use: As, pod: str, key: str) -> None:
    eventually(lambda: is_refused(api, pod, annotated({key: "mine"})))
    use(PLANNER).patch(pod, annotated({key: "{}"}))
    assert is_refused(api, pod, annotated({key: "mine"}))
    assert not is_refused(api, pod, annotated({"example.com/a": "b"}))
    assert not is_refused(api, pod, annotated({key: None}))


@pytest.mark.parametrize("key", [PLAN, MOVE])
def test_pods_are_created_whatever_they_carry(api: Api, namespace: str, key: str) -> None:
    made = objects.pod("copied", namespace)
    made["metadata"]["annotations"] = {key: "mine"}
    api.create(made)


@pytest.fixture
def replicas(api: Api, plane: ControlPlane, add_nodes: AddNodes) -> Iterator[tuple[Api, list[str]]]:
    """The API server with the token of the first of two replicas, and the paths of both."""
    add_nodes(objects.node("host"))
    made = [objects.pod(f"replica-{number}", NAMESPACE, nodeName="host") for number in range(2)]
    for each in made:
        each["metadata"]["annotations"] = {"example.com/owner": "team"}
        each["spec"] |= {"serviceAccountName": EXTENDER, **_restricted(each)}
    created = [api.create(each) for each in made]
    token = fake.service_account_token(api, NAMESPACE, EXTENDER, pod=created[0])
    with contextlib.closing(Api(plane.token_kubeconfig("replica", token))) as own:
        yield own, [path(each) for each in created]
    for each in created:
        api.delete(path(each), gracePeriodSeconds="0")


def _restricted(pod: Object) -> dict[str, Any]:
    """What the namespace's pod security standard wants."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [{**each, "securityContext": security} for each in pod["spec"]["containers"]],
    }


def test_replica_changes_one_annotation_of_its_own_pod(replicas: tuple[Api, list[str]]) -> None:
    replica, (own, other) = replicas
    eventually(lambda: is_refused(replica, other, annotated({WOKEN: "1"})))
    assert not is_refused(replica, own, annotated({WOKEN: "1"}))
    for subresource, patch in NOT_OURS.values():
        if not subresource and patch != NOT_OURS["another's gate"][1] and "nodeSelector" not in str(patch):
            assert is_refused(replica, own, patch)


def test_token_of_no_pod_changes_none(use: As, replicas: tuple[Api, list[str]]) -> None:
    _, (own, _) = replicas
    eventually(lambda: is_refused(use(EXTENDER), own, annotated({WOKEN: "1"})))
