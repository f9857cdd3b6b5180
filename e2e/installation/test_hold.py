"""The hold: which new pods get our scheduling gate from the API server, and which never do."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from e2e import fake, objects, outcomes
from e2e.api import Api, path
from e2e.conftest import AddNodes
from e2e.installation.conftest import only
from e2e.installation.installation import NAMESPACE, Installation, Shell, commands, dry_run, eventually
from e2e.objects import Object
from tradewind.planner.gate import GATE, OLD_GATE

pytestmark = [only("kind"), pytest.mark.usefixtures("installed")]

LABEL, OLD_LABEL = "tradewind.dev/hold", "tradewind.dev/plan"
OPT_OUT, OLD_OPT_OUT = "tradewind.dev/hold", "tradewind.dev/plan-hold"
FOREIGN = "example.com/quota"


@pytest.fixture
def planned(api: Api, namespace: str) -> str:
    """A namespace whose pods are held."""
    label(api, namespace)
    eventually(lambda: gates(dry_run(api, objects.pod("probe", namespace))) == [GATE])
    return namespace


def label(api: Api, namespace: str, value: str | None = "enabled", key: str = LABEL) -> None:
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": {key: value}}})


def gates(pod: Object) -> list[str]:
    return [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]


def owned_by_daemonset(*, controller: bool) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "name": "agent",
        "uid": "b6c4c2d6-3f0e-4f0e-9d1c-0a2b7f4b1c11",
        "controller": controller,
    }


PODS = {
    "a plain pod is held": ({}, {}, [GATE]),
    "other gates stay": ({"schedulingGates": [{"name": FOREIGN}]}, {}, [FOREIGN, GATE]),
    "ours is there once": ({"schedulingGates": [{"name": GATE}]}, {}, [GATE]),
    "ours before another": ({"schedulingGates": [{"name": GATE}, {"name": FOREIGN}]}, {}, [GATE, FOREIGN]),
    "a pod with a node is not": ({"nodeName": "chosen"}, {}, []),
    "nor the mirror of a static pod": (
        {"nodeName": "chosen"},
        {"annotations": {"kubernetes.io/config.mirror": "0", "kubernetes.io/config.source": "file"}},
        [],
    ),
    "nor one that says no": ({}, {"annotations": {OPT_OUT: "false"}}, []),
    "nor one that says no as in the version before": ({}, {"annotations": {OLD_OPT_OUT: "false"}}, []),
    "no other word is a no": ({}, {"annotations": {OPT_OUT: "true"}}, [GATE]),
    "nor a DaemonSet's": ({}, {"ownerReferences": [owned_by_daemonset(controller=True)]}, []),
    "a DaemonSet's dependent is no pod of it": (
        {},
        {"ownerReferences": [owned_by_daemonset(controller=False)]},
        [GATE],
    ),
}


@pytest.mark.parametrize(("spec", "metadata", "expected"), PODS.values(), ids=PODS)
def test_which_pods_are_held(
    api: Api, planned: str, spec: dict[str, Any], metadata: dict[str, Any], expected: list[str]
) -> None:
    pod = objects.pod("pod", planned, **spec)
    pod["metadata"] |= metadata
    assert gates(dry_run(api, pod)) == expected


def test_held_pod_says_what_holds_it_and_is_not_held_twice(api: Api, planned: str) -> None:
    pod = api.create(objects.pod("pod", planned))
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    released = api.patch(path(pod), {"spec": {"schedulingGates": []}, "metadata": {"labels": {"a": "b"}}})
    assert gates(released) == []


def workload(kind: str, namespace: str, **spec: Any) -> Object:
    api_version = "batch/v1" if kind == "Job" else "apps/v1"
    labels = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "made"}}}
    template = {"metadata": {"labels": {"app": "made"}}, "spec": objects.pod_spec(**spec)}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "made", "namespace": namespace},
        "spec": {"template": template, **labels},
    }


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Deployment", {}, [GATE]),
        ("StatefulSet", {}, [GATE]),
        ("Job", {"restartPolicy": "Never"}, [GATE]),
        ("DaemonSet", {}, []),
    ],
)
def test_pods_of_controllers(
    api: Api, planned: str, add_nodes: AddNodes, *, kind: str, spec: dict[str, str], expected: list[str]
) -> None:
    add_nodes(objects.node("host"))  # for the DaemonSet
    owner = api.create(workload(kind, planned, **spec))
    try:
        assert gates(first_pod(api, planned)) == expected
    finally:
        api.delete(path(owner), propagationPolicy="Background")


def first_pod(api: Api, namespace: str) -> Object:
    pods = api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS, labelSelector="app=made")
    return next(change.object for change in pods if change.object)


@pytest.mark.parametrize("value", [None, "disabled", "true"])
def test_other_namespaces_are_left_alone(
    api: Api, planned: str, namespace_aside: str, value: str | None
) -> None:
    label(api, namespace_aside, value)
    seen_after(api, planned)
    assert gates(dry_run(api, objects.pod("pod", namespace_aside))) == []


@pytest.mark.parametrize("name", ["kube-system", "kube-public", "kube-node-lease", NAMESPACE])
def test_system_is_never_held_whatever_its_labels_say(
    api: Api, planned: str, installed: Installation, name: str
) -> None:
    label(api, name)
    try:
        seen_after(api, planned)
        for template in installed.pods.values():
            pod = deepcopy(template)
            pod["metadata"]["namespace"] = name
            # Only its own namespace has the account, and the quota that such a class may need.
            if name != NAMESPACE:
                del pod["spec"]["serviceAccountName"], pod["spec"]["priorityClassName"]
            assert gates(dry_run(api, pod)) == []
    finally:
        label(api, name, None)


@pytest.fixture
def namespace_aside(api: Api) -> Iterator[str]:
    name = fake.add_namespace(api)
    yield name
    fake.remove_namespace(api, name)


def test_label_of_the_version_before_still_holds(api: Api, namespace: str) -> None:
    label(api, namespace, key=OLD_LABEL)
    eventually(lambda: gates(dry_run(api, objects.pod("pod", namespace))) == [GATE])
    label(api, namespace)
    seen = objects.pod("pod", namespace)
    eventually(lambda: LABEL in api.read(f"/api/v1/namespaces/{namespace}")["metadata"]["labels"])
    assert gates(dry_run(api, seen)) == [GATE]


def seen_after(api: Api, namespace: str) -> None:
    """Until admission has seen a change made after the others; it sees namespaces change in that order."""
    label(api, namespace, None)
    eventually(lambda: not gates(dry_run(api, objects.pod("probe", namespace))))


def test_policy_that_fails_admits_the_pod_as_it_is(api: Api, planned: str, installed: Installation) -> None:
    (policy,) = (path(obj) for obj in installed.objects if obj["kind"] == "MutatingAdmissionPolicy")
    shipped = api.read(policy)["spec"]
    assert shipped["failurePolicy"] == "Ignore"
    broken = {"name": "broken", "expression": "object.spec.hostname == 'not set, so an error'"}
    api.patch(policy, {"spec": {"matchConditions": [broken]}})
    try:
        eventually(lambda: not gates(dry_run(api, objects.pod("pod", planned))))
    finally:
        api.patch(policy, {"spec": {"matchConditions": shipped["matchConditions"]}})
    eventually(lambda: gates(dry_run(api, objects.pod("pod", planned))) == [GATE])


def test_guide_lets_held_pods_go_with_kubectl_alone(
    api: Api, planned: str, shell: Shell, installed: Installation
) -> None:
    both = [{"name": FOREIGN}, {"name": GATE}]
    old = [{"name": OLD_GATE}, {"name": FOREIGN}]
    api.create_all(
        [
            objects.pod("held", planned),
            objects.pod("both", planned, schedulingGates=both),
            objects.pod("old", planned, schedulingGates=old),
        ]
    )
    shell.run(commands("### 1. Held pods", block=1))
    try:
        pods = api.read(f"/api/v1/namespaces/{planned}/pods")["items"]
        assert {pod["metadata"]["name"]: gates(pod) for pod in pods} == {
            "held": [],
            "both": [FOREIGN],
            "old": [FOREIGN],
        }
        eventually(lambda: not gates(dry_run(api, objects.pod("pod", planned))))
    finally:
        for obj in installed.objects:
            if obj["kind"].startswith("MutatingAdmissionPolicy"):
                api.create(obj)
    eventually(lambda: gates(dry_run(api, objects.pod("pod", planned))) == [GATE])
