"""A pod counts where it was ranked first until the watch says where it is: for scores, for nothing else."""

from dataclasses import replace

import pytest

from extender.expected import Expected
from extender.metrics import ExtenderMetrics
from tests.builders import cluster_of, node, pod
from tradewind.cluster.snapshot import Nodes

_NODES = [node("a").cpu("2"), node("b").cpu("2")]
_OTHER = pod("other").build()
_X = pod("x").requests(cpu="1")


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _free(nodes: Nodes) -> list[int]:
    free = nodes.free_of("cpu")
    assert free is not None
    return [int(amount) for amount in free]


@pytest.fixture
def metrics() -> ExtenderMetrics:
    return ExtenderMetrics()


@pytest.fixture
def expected(metrics: ExtenderMetrics) -> Expected:
    return Expected(metrics)


def _outcomes(metrics: ExtenderMetrics) -> dict[str, float]:
    samples = next(iter(metrics.expected.collect())).samples
    found = {each.labels["outcome"]: each.value for each in samples if each.name.endswith("_total")}
    return {outcome: count for outcome, count in found.items() if count}


def test_nobody_expected_costs_a_look(expected: Expected) -> None:
    nodes = cluster_of(_NODES).nodes
    assert expected.counted(_OTHER, nodes).columns is nodes.columns


def test_a_pod_counts_where_it_is_expected_and_not_for_itself(expected: Expected) -> None:
    nodes = cluster_of(_NODES).nodes
    expected.expect(_X.build(), "b")
    assert _free(expected.counted(_OTHER, nodes)) == [2000, 1000]
    assert _free(expected.counted(_X.build(), nodes)) == [2000, 2000]


def test_only_of_the_nodes_that_are_asked_about(expected: Expected) -> None:
    nodes = cluster_of(_NODES).nodes
    expected.expect(_X.build(), "b")
    expected.expect(pod("y").requests(cpu="1").build(), "gone")
    only = nodes.take(nodes.rows[1:])
    assert _free(expected.counted(_OTHER, only)) == [1000]


def test_no_rule_but_scores_of_room_knows_of_it(expected: Expected) -> None:
    """A guess must not keep a pod from a node: affinity, floors and hints count who is there."""
    nodes = cluster_of(_NODES).nodes
    expected.expect(_X.build(), "b")
    counted = expected.counted(_OTHER, nodes).cluster
    assert (counted.placed, counted.roster) == (nodes.cluster.placed, nodes.cluster.roster)


@pytest.mark.parametrize(("found", "outcome"), [("b", "as_expected"), ("a", "elsewhere")])
def test_the_watch_says_where_it_is(
    found: str, outcome: str, expected: Expected, metrics: ExtenderMetrics
) -> None:
    expected.expect(_X.build(), "b")
    nodes = cluster_of(_NODES, [_X.on(found)]).nodes
    assert _free(expected.counted(_OTHER, nodes)) == _free(nodes)
    assert _outcomes(metrics) == {outcome: 1}


def test_who_is_never_seen_is_forgotten(metrics: ExtenderMetrics) -> None:
    clock = _Clock()
    expected, nodes = Expected(metrics, clock), cluster_of(_NODES).nodes
    expected.expect(_X.build(), "b")
    clock.now = 9
    assert _free(expected.counted(_OTHER, nodes)) == [2000, 1000]
    clock.now = 11
    assert _free(expected.counted(_OTHER, nodes)) == [2000, 2000]
    assert _outcomes(metrics) == {"not_seen": 1}


def test_asked_about_again_it_counts_once(expected: Expected) -> None:
    nodes = cluster_of(_NODES).nodes
    expected.expect(_X.build(), "b")
    expected.expect(_X.build(), "a")
    assert _free(expected.counted(_OTHER, nodes)) == [1000, 2000]


def test_another_pod_of_the_name_takes_its_place(expected: Expected) -> None:
    nodes = cluster_of(_NODES, [_X.uid("before").on("a")]).nodes
    expected.expect(_X.uid("after").build(), "b")
    assert _free(expected.counted(_OTHER, nodes)) == [1000, 1000]


def test_the_newest_are_kept(expected: Expected, metrics: ExtenderMetrics) -> None:
    nodes = cluster_of([node("a").cpu("2000"), node("b").cpu("2000")]).nodes
    for number in range(600):
        expected.expect(pod(f"x-{number}").requests(cpu="1").build(), "a" if number < 88 else "b")
    assert _free(expected.counted(_OTHER, nodes)) == [2_000_000, 2_000_000 - 512_000]
    assert _outcomes(metrics) == {"not_seen": 88}


def test_who_is_expected_is_no_longer_to_come(expected: Expected) -> None:
    """Of three pods that wait with four cores, the pod itself has one, and one that is on its way two."""
    waiting = [pod("other").requests(cpu="1"), pod("x").requests(cpu="2"), pod("y").requests(cpu="1")]
    nodes = cluster_of(_NODES, waiting).nodes
    quiet = replace(nodes, cluster=replace(nodes.cluster, to_come={"cpu": 4000, "pods": 3}))
    expected.expect(waiting[1].build(), "b")
    assert expected.counted(waiting[0].build(), quiet).cluster.to_come == {"cpu": 1000, "pods": 1}
    assert expected.counted(waiting[0].build(), nodes).cluster.to_come is None  # they have just come


@pytest.mark.parametrize(
    ("to_come", "known"),
    [
        pytest.param({"cpu": 3000, "pods": 2}, {}, id="the two are all"),
        pytest.param({}, None, id="nobody waited, and now one asks"),
        pytest.param({"cpu": 9000, "pods": 1}, None, id="one waits that is neither of the two"),
    ],
)
def test_whom_the_watch_has_not_brought_is_not_the_last(
    expected: Expected, to_come: dict[str, int], known: dict[str, int] | None
) -> None:
    nodes = cluster_of(_NODES).nodes
    quiet = replace(nodes, cluster=replace(nodes.cluster, to_come=to_come))
    expected.expect(pod("x").requests(cpu="2").build(), "b")
    assert expected.counted(pod("new").requests(cpu="1").build(), quiet).cluster.to_come == known
