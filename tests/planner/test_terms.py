"""Which pods are one class, and which classes share what scorers and filters say of them."""

import numpy as np
import pytest

from scoring import registry
from scoring.in_tree import IN_TREE
from scoring.pod_filter import PodFilter
from scoring.rules import Filter, Scorer
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled
from tradewind.cluster import hints

_FILTERS: list[type[Filter]] = [
    *registry.FILTERS,
    *(each for each in IN_TREE if each not in registry.FILTERS),
]


def _nodes() -> list[NodeBuilder]:
    spot = node("spot").label("karpenter.sh/capacity-type", "spot").label("disktype", "ssd").price(0.3)
    return [node("small").cpu("1").price(1), spot.cpu("8"), node("tainted").taint("gpu", "NoSchedule")]


def _start() -> PodBuilder:
    start = pod("p").requests(cpu="2", memory="1Gi").annotation("tradewind.dev/disk-type", "ssd")
    return start.owner("Job", "one", "one").host_port(80)


def _tied() -> PodBuilder:
    """The same with all by which classes may differ that share their columns."""
    start = _start().label("app", "other").owner("Job", "two", "two").spread(ZONE, {"app": "other"})
    start = start.affinity(ZONE, {"app": "x"}).anti_affinity(HOST, {"app": "x"})
    return start.annotation("tradewind.dev/gang", "ring")


@pytest.mark.parametrize("rule", [each.scorer for each in registry.SCORERS])
def test_no_scorer_looks_at_what_ties_a_pod_to_others(rule: type[Scorer]) -> None:
    snapshot = filled(_nodes(), [pod("x").label("app", "x").on("spot")]).snapshot()
    plain, tied = (rule().score(each.build(), snapshot.nodes) for each in (_start(), _tied()))
    np.testing.assert_array_equal(plain, tied)


@pytest.mark.parametrize("rule", [each for each in _FILTERS if not issubclass(each, PodFilter)])
def test_no_other_filter_does(rule: type[Filter]) -> None:
    snapshot = filled(_nodes(), [pod("x").label("app", "x").on("spot")]).snapshot()
    plain, tied = (rule().feasible(each.build(), snapshot.nodes) for each in (_start(), _tied()))
    np.testing.assert_array_equal(plain, tied)


def test_classes_that_differ_in_ties_only_share_their_columns() -> None:
    start = pod("p").requests(cpu="1")
    apart = [start.label("app", app).anti_affinity(HOST, {"app": app}) for app in "ab"]
    pods = [each for app, one in zip("ab", apart, strict=True) for each in copies(one, app, 2)]
    first, second = batch_of(filled(_nodes(), pods)).problem.classes
    assert first.cost is second.cost
    assert first.allowed is second.allowed
    placed = pod("old").label("app", "a").requests(cpu="1").on("spot")
    first, second = batch_of(filled(_nodes(), [placed, *pods])).problem.classes
    assert first.allowed.tolist() == [True, False, False]
    assert second.allowed.tolist() == [True, True, False]


def test_pods_that_ask_for_other_disks_by_a_label_are_of_two_classes() -> None:
    fast, slow = (pod("p").label("tradewind.dev/disk-type", disk) for disk in ("ssd", "hdd"))
    classes = batch_of(filled(_nodes(), [*copies(fast, "f", 2), *copies(slow, "s", 2)])).problem.classes
    assert [each.allowed.tolist() for each in classes] == [[False, True, False], [False, False, False]]


@pytest.mark.parametrize(
    ("annotation", "value", "classes"),
    [
        pytest.param("tradewind.dev/disk-type", "ssd", 1, id="nobody counts the pods of a workload"),
        pytest.param("tradewind.dev/durable-share", "0.5", 2, id="a floor does"),
        pytest.param(hints.ONE_PER_NODE, "true", 2, id="one pod a node does"),
        pytest.param(hints.MAX_PER_ZONE, "1", 2, id="a limit for each zone does"),
    ],
)
def test_workloads_divide_equal_pods_where_some_rule_counts_them(
    annotation: str, value: str, classes: int
) -> None:
    start = pod("p").requests(cpu="1").annotation(annotation, value)
    pods = [each for name in "ab" for each in copies(start.owner("ReplicaSet", name, name), name, 2)]
    assert len(batch_of(filled(_nodes(), pods)).groups) == classes


def test_a_floor_that_one_pod_of_a_workload_asks_for_counts_all_of_them() -> None:
    plain, other = (pod(name).requests(cpu="1").owner("ReplicaSet", name, name) for name in "ab")
    asking = (
        plain.annotation("tradewind.dev/durable-min", "1").uid("asking").field("metadata", "name", value="c")
    )
    batch = batch_of(filled(_nodes(), [plain, other, asking]))
    assert len(batch.groups) == 3
    [floor] = batch.problem.relations
    assert {batch.groups[index].pod.name for index in floor.members()} == {"a", "c"}


def test_a_floor_tells_apart_the_pods_of_an_older_rollout_that_had_none() -> None:
    """They count for the floor of their Deployment; equal pods of another Deployment do not."""

    def replica(deployment: str, rollout: str) -> PodBuilder:
        name = f"{deployment}-{rollout}"
        return pod(name).requests(cpu="1").label("pod-template-hash", rollout).owner("ReplicaSet", name, name)

    asking = replica("web", "2").annotation("tradewind.dev/durable-min", "1")
    batch = batch_of(filled(_nodes(), [replica("web", "1"), replica("other", "1"), asking]))
    assert len(batch.groups) == 3
    together = max((each.members() for each in batch.problem.relations), key=len)
    assert {batch.groups[index].pod.name for index in together} == {"web-1", "web-2"}
