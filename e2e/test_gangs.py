"""A gang stands whole or not at all, on the real kube-scheduler: also where nothing is held or planned."""

import time
from collections.abc import Iterable

import pytest

from e2e import fake, manifests, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner
from e2e.objects import Object
from scoring.filters.gang import Gang
from tradewind.planner.gang_room import WholeGangFits

_GANG = "tradewind.dev/gang"
_MIN = "tradewind.dev/gang-min"
# In which part of a gang would have been bound.
_CALM_SECONDS = 4.0

pytestmark = pytest.mark.usefixtures("scheduling")


@pytest.fixture
def max_backoff_seconds() -> int:
    """Below _CALM_SECONDS."""
    return 1


def members(
    namespace: str, gang: str, numbers: Iterable[int], *, size: int = 0, cpu: str = "1"
) -> list[Object]:
    annotations = {_GANG: gang} | ({_MIN: str(size)} if size else {})
    return [
        objects.pod(f"{gang}-{number}", namespace, cpu=cpu, annotations=annotations, labels={"gang": gang})
        for number in numbers
    ]


def bound(api: Api, namespace: str, gang: str = "") -> list[str]:
    """The names of those that have a node."""
    pods = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return sorted(
        pod["metadata"]["name"]
        for pod in pods
        if outcomes.bound_to(pod) and gang in ("", pod["metadata"].get("labels", {}).get("gang"))
    )


def stays_unbound(api: Api, namespace: str, gang: str) -> None:
    """Whatever wakes its members: a pod that is bound does."""
    deadline = time.monotonic() + _CALM_SECONDS
    for number in range(100):
        if time.monotonic() > deadline:
            break
        name = f"waker-{gang}-{number}"
        api.create(objects.pod(name, namespace, cpu="1m", memory="1Mi"))
        outcomes.bound_node(api, namespace, name)
        time.sleep(0.5)
    assert bound(api, namespace, gang) == []


@pytest.mark.parametrize("size", [0, 5], ids=["of unknown size", "of five"])
def test_a_gang_larger_than_the_cluster_takes_nothing(
    api: Api, add_nodes: AddNodes, namespace: str, size: int
) -> None:
    add_nodes(objects.node("a", cpu="2100m"), objects.node("b", cpu="2100m"))
    api.create_all(members(namespace, "ring", range(5), size=size))
    outcomes.unschedulable(api, namespace, "ring-0", containing="gang")
    stays_unbound(api, namespace, "ring")
    assert WholeGangFits.reason in outcomes.unschedulable(api, namespace, "ring-4", containing="at once")


def test_a_gang_that_fits_is_bound_as_a_whole(api: Api, add_nodes: AddNodes, namespace: str) -> None:
    add_nodes(objects.node("a", cpu="2100m"), objects.node("b", cpu="2100m"))
    api.create_all(members(namespace, "ring", range(4), size=4))
    nodes = outcomes.bound_nodes(api, namespace, 4)
    assert sorted(nodes.values()) == ["a", "a", "b", "b"]


def test_of_two_gangs_that_do_not_fit_together_one_stands(
    api: Api, add_nodes: AddNodes, namespace: str
) -> None:
    """Room for 6; each gang of 4 fits alone. Member by member, kube-scheduler would start both."""
    add_nodes(*(objects.node(name, cpu="2100m") for name in "abc"))
    pairs = zip(
        members(namespace, "left", range(4), size=4),
        members(namespace, "right", range(4), size=4),
        strict=True,
    )
    api.create_all(pod for pair in pairs for pod in pair)
    outcomes.bound_nodes(api, namespace, 4)
    time.sleep(_CALM_SECONDS)
    assert sorted([len(bound(api, namespace, "left")), len(bound(api, namespace, "right"))]) == [0, 4]


def test_members_that_come_one_after_another_wait_for_the_last(
    api: Api, add_nodes: AddNodes, namespace: str
) -> None:
    add_nodes(objects.node("a", cpu="8"))
    api.create_all(members(namespace, "late", range(2), size=3))
    assert Gang.reason in outcomes.unschedulable(api, namespace, "late-1")
    stays_unbound(api, namespace, "late")
    others = len(bound(api, namespace))
    api.create_all(members(namespace, "late", [2], size=3))
    outcomes.bound_nodes(api, namespace, 3 + others, seconds=60)
    assert len(bound(api, namespace, "late")) == 3


def test_a_gang_without_room_is_ungated_at_once_and_stays_whole(
    api: Api, add_nodes: AddNodes, held: str, start_planner: StartPlanner
) -> None:
    """What was ungated without a plan is kube-scheduler's, which asks about each member alone."""
    add_nodes(objects.node("a", cpu="2100m"), objects.node("b", cpu="2100m"))
    start_planner({"planner": {"holdSeconds": 3600}})
    api.create_all(members(held, "ring", range(5)))
    outcomes.event(api, held, "ring-0", "Ungated")
    outcomes.unschedulable(api, held, "ring-0", containing="gang")
    stays_unbound(api, held, "ring")
    others = len(bound(api, held))
    add_nodes(objects.node("c", cpu="2100m"))
    outcomes.bound_nodes(api, held, 5 + others, seconds=60)
    assert len(bound(api, held, "ring")) == 5


def test_the_size_of_a_gang_comes_from_its_job(
    api: Api, add_nodes: AddNodes, namespace: str, start_planner: StartPlanner
) -> None:
    """Room for three of four: its pods say nothing, and the Job's controller makes them one after another."""
    add_nodes(objects.node("a", cpu="3100m"))
    start_planner({})
    api.create(_job(namespace, "ring", parallelism=4))
    pod = first_member(api, namespace)
    outcomes.unschedulable(api, namespace, pod, containing="gang")
    stays_unbound(api, namespace, "ring")
    others = len(bound(api, namespace))
    add_nodes(objects.node("b", cpu="3100m"))
    outcomes.bound_nodes(api, namespace, 4 + others, seconds=60)
    assert len(bound(api, namespace, "ring")) == 4
    api.delete(f"/apis/batch/v1/namespaces/{namespace}/jobs/ring", propagationPolicy="Background")


def first_member(api: Api, namespace: str) -> str:
    """As soon as the planner has written the size on it."""
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS):
        if change.object and change.object["metadata"].get("annotations", {}).get(_MIN) == "4":
            return str(change.object["metadata"]["name"])
    raise outcomes.NotSeenError("no pod has the size of its gang")


def _job(namespace: str, name: str, *, parallelism: int) -> Object:
    metadata = {"labels": {"gang": name}, "annotations": {_GANG: name}}
    spec = {**objects.pod_spec(cpu="1"), "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "parallelism": parallelism,
            "completions": parallelism,
            "template": {"metadata": metadata, "spec": spec},
        },
    }


@pytest.mark.parametrize("evict", [False, True], ids=["told", "evicted"])
def test_when_a_member_is_lost_the_rest_is_told_and_evicted_where_asked_for(
    api: Api, add_nodes: AddNodes, namespace: str, start_planner: StartPlanner, *, evict: bool
) -> None:
    add_nodes(objects.node("a", cpu="4"))
    with fake.existing(api, manifests.component_roles("evict")):
        settings = {"planner": {"gangs": {"onLoss": "evict" if evict else "keep"}}}
        planner = start_planner(settings, "--evict")
        api.create_all(members(namespace, "ring", range(3), size=3))
        outcomes.bound_nodes(api, namespace, 3)
        time.sleep(2)  # the planner has seen it stand
        api.delete(f"/api/v1/namespaces/{namespace}/pods/ring-1", gracePeriodSeconds="0")
        told = outcomes.event(api, namespace, "ring-0", "GangBroken")
        assert told == f"{namespace}/ring-1 is gone from gang {namespace}/ring: 2 of 3 pods are left"
        if evict:
            planner.wait_metric("tradewind_evictions_total", 2, outcome="evicted")
        else:
            time.sleep(3)
        leaving = [pod for pod in _pods(api, namespace) if pod["metadata"].get("deletionTimestamp")]
        assert len(leaving) == (2 if evict else 0)


def _pods(api: Api, namespace: str) -> list[Object]:
    listed: list[Object] = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return listed
