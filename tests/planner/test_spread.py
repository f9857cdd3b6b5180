"""Pack or spread, as a class says: the cheapest nodes, or all of them to the same share, the freest first."""

import itertools
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import ZONE, copies, filled
from tests.planner.check import violations
from tradewind.cluster import hints
from tradewind.config import document as config
from tradewind.planner.batch import Batch, make_batch
from tradewind.planner.binding import valid_order
from tradewind.planner.drains import drains
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import Plan, make_plan
from tradewind.planner.planner import plan
from tradewind.planner.problem import Assignment, Outcome, value
from tradewind.planner.reasons import reasons
from tradewind.planner.settings import Engine, PoolTemplate

_DOCUMENT = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
classes:
- {name: even, match: {labels: "placement=spread"}, placement: spread}
"""
_POLICY_OF = config.parse(_DOCUMENT).policies().of

_ENGINES = pytest.mark.parametrize("engine", ["greedy", "auto", "flow"])


def _batch(nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder]) -> Batch:
    cache = filled(nodes, pods)
    return make_batch(cache.snapshot(), cache.all_pods(), _POLICY_OF)


def _solved(batch: Batch, engine: str) -> Outcome:
    found = [Outcome(greedy(batch.problem), "greedy")]
    if engine != "greedy":
        which: Engine = "flow" if engine == "flow" else "auto"
        optimise(batch.problem, found[0].assignment, 10, found.append, engine=which)
    return found[-1]


def _planned(nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder], engine: str) -> Plan:
    batch = _batch(nodes, pods)
    assignment, name, _ = _solved(batch, engine)
    found = make_plan(batch, valid_order(batch.problem, assignment), reasons(batch, assignment), name)
    assert violations(filled(nodes, pods), _POLICY_OF, found) == []
    return found


def _on_nodes(found: Plan) -> dict[str, int]:
    return dict(Counter(each.node for each in found.placements))


def _pods(count: int, placement: str = "spread", cpu: str = "1") -> list[PodBuilder]:
    start = pod("t").label("app", "t").label("placement", placement).owner("ReplicaSet", "t", "t")
    return copies(start.requests(cpu=cpu), "t", count)


def _machines(*cpus: int) -> list[NodeBuilder]:
    """Each dearer than the one before."""
    return [node(f"m{number}").cpu(cpu).price(1 + number) for number, cpu in enumerate(cpus)]


@_ENGINES
@pytest.mark.parametrize(
    ("placement", "count", "expected"),
    [
        pytest.param("pack", 4, {"m0": 4}, id="packed on the cheapest"),
        pytest.param("spread", 2, {"m0": 1, "m1": 1}, id="one on each of two"),
        pytest.param("spread", 3, {"m0": 1, "m1": 1, "m2": 1}, id="one on each of three"),
        pytest.param("spread", 7, {"m0": 3, "m1": 2, "m2": 2}, id="the odd one on the cheapest"),
        pytest.param("spread", 12, {"m0": 4, "m1": 4, "m2": 4}, id="all slots"),
    ],
)
def test_equally_many_pods_over_machines(
    placement: str, count: int, expected: dict[str, int], engine: str
) -> None:
    assert _on_nodes(_planned(_machines(4, 4, 4), _pods(count, placement), engine)) == expected


@_ENGINES
def test_the_freest_machine_comes_first_however_dear(engine: str) -> None:
    nodes = _machines(4, 4, 4)
    there = [pod("a").requests(cpu="3").on("m0"), pod("b").requests(cpu="1").on("m1")]
    assert _on_nodes(_planned(nodes, [*there, *_pods(1)], engine)) == {"m2": 1}
    assert _on_nodes(_planned(nodes, [*there, *_pods(2)], engine)) == {"m2": 1, "m1": 1}


@_ENGINES
@pytest.mark.parametrize(
    ("taken", "count", "expected"),
    [
        pytest.param((0, 0, 0), 14, {"m0": 8, "m1": 4, "m2": 2}, id="as much as fits"),
        pytest.param((0, 0, 0), 7, {"m0": 4, "m1": 2, "m2": 1}, id="half of each node"),
        pytest.param((4, 0, 0), 5, {"m0": 2, "m1": 2, "m2": 1}, id="what runs there counts"),
    ],
)
def test_nodes_fill_to_the_same_share(
    taken: Sequence[int], count: int, expected: dict[str, int], engine: str
) -> None:
    busy = [pod(f"b{n}").requests(cpu=str(cpu)).on(f"m{n}") for n, cpu in enumerate(taken) if cpu]
    assert _on_nodes(_planned(_machines(8, 4, 2), [*busy, *_pods(count)], engine)) == expected


@_ENGINES
@pytest.mark.parametrize("resources", [{}, {"memory": "32Gi"}], ids=["cpu", "memory"])
def test_small_pods_are_spread_over_large_nodes_too(resources: dict[str, str], engine: str) -> None:
    nodes = [each.memory("512Gi") for each in _machines(64, 64, 64)]
    pods = [each.requests(cpu="100m", **resources) for each in _pods(6)]
    assert _on_nodes(_planned(nodes, pods, engine)) == {"m0": 2, "m1": 2, "m2": 2}


@_ENGINES
def test_running_pods_of_the_workload_count_as_what_they_take(engine: str) -> None:
    """The node with one of them is a sixteenth taken, the other one would be half taken with the new pod."""
    running = [each.on("m1").uid(f"running-{n}") for n, each in enumerate(_pods(1))]
    running = [each.field("metadata", "name", value="running") for each in running]
    assert _on_nodes(_planned(_machines(2, 16), [*running, *_pods(1)], engine)) == {"m1": 1}


@_ENGINES
def test_hard_constraints_of_the_picture(engine: str) -> None:
    """T0 to T3 fill M0 and M1, T4 waits; M2 does not meet the requirement."""
    nodes = [each.label("disk", "ssd") for each in _machines(2, 2)] + [node("m2").cpu(2).price(0.1)]
    pods = [each.node_selector("disk", "ssd") for each in _pods(5)]
    found = _planned(nodes, pods, engine)
    assert _on_nodes(found) == {"m0": 2, "m1": 2}
    assert len(found.unplaced) == 1
    assert _on_nodes(_planned(nodes, pods[:2], engine)) == {"m0": 1, "m1": 1}


@_ENGINES
def test_soft_constraints_of_the_picture(engine: str) -> None:
    """T0 to T3 go to M0 and M1, which they prefer; T4 goes to M2, which is cheaper and free."""
    nodes = [each.label("disk", "ssd") for each in _machines(2, 2)] + [node("m2").cpu(8).price(0.9)]
    term = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    pods = [
        each.field(
            "spec",
            "affinity",
            "nodeAffinity",
            "preferredDuringSchedulingIgnoredDuringExecution",
            value=[{"weight": 100, "preference": term}],
        )
        for each in _pods(5)
    ]
    assert _on_nodes(_planned(nodes, pods, engine)) == {"m0": 2, "m1": 2, "m2": 1}


@_ENGINES
def test_r_pods_in_a_zone_and_there_the_freest_node(engine: str) -> None:
    nodes = [
        node(f"m{zone}{number}").cpu(4).label(ZONE, f"z{zone}").price(1 + number)
        for zone in range(3)
        for number in range(2)
    ]
    busy = [pod(f"busy{zone}").requests(cpu="2").on(f"m{zone}0") for zone in range(3)]
    pods = [each.annotation(hints.MAX_PER_ZONE, "1") for each in _pods(3)]
    assert _on_nodes(_planned(nodes, [*busy, *pods], engine)) == {"m01": 1, "m11": 1, "m21": 1}


@pytest.mark.parametrize("cpus", [(4, 4, 4), (2, 4, 8), (1, 3, 3)])
@pytest.mark.parametrize("count", [3, 5])
def test_no_assignment_of_all_is_better_than_that_of_the_solver(cpus: Sequence[int], count: int) -> None:
    batch = _batch(_machines(*cpus), [*_pods(count), pod("other").requests(cpu="1")])
    found = _solved(batch, "auto")
    assert found.engine == "exact"
    best = max(value(batch.problem, each) for each in _every(batch, cpus))
    assert value(batch.problem, found.assignment) == pytest.approx(best, rel=1e-9)


def _every(batch: Batch, cpus: Sequence[int]) -> list[Assignment]:
    indices = [index for index, each in enumerate(batch.problem.classes) for _ in range(each.count)]
    return [
        Counter(zip(indices, rows, strict=True))
        for rows in itertools.product(range(len(cpus)), repeat=len(indices))
        if all(rows.count(row) <= cpu for row, cpu in enumerate(cpus))
    ]


def test_only_pods_of_the_class_are_spread() -> None:
    others = copies(pod("o").requests(cpu="1"), "o", 3)
    found = _planned(_machines(8, 8, 8), [*_pods(3), *others], "auto")
    where = {each.pod: each.node for each in found.placements}
    assert {where[f"default/t-{number}"] for number in (1, 2, 3)} == {"m0", "m1", "m2"}
    assert len({where[f"default/o-{number}"] for number in (1, 2, 3)}) == 1


def test_workloads_are_spread_each_by_itself() -> None:
    """Alike in all but their owner; together they would be two on each node."""
    start = pod("u").label("app", "t").label("placement", "spread").owner("ReplicaSet", "u", "u")
    second = copies(start.requests(cpu="1"), "u", 1)
    assert len(_batch(_machines(4, 4), [*_pods(1), *second]).problem.classes) == 2


def test_no_node_is_added_only_to_spread() -> None:
    pool = PoolTemplate(name="new", resources={"cpu": 8}, price=1)
    cache = filled([node("m0").cpu(1)], _pods(5))
    found = plan(cache.snapshot(), cache.all_pods(), _POLICY_OF, None, 1, pools=[pool])
    assert found.new_nodes == {"new": 1}


@pytest.mark.parametrize(("placement", "sets"), [("pack", 1), ("spread", 0)])
def test_pods_that_are_spread_are_not_drained_together(placement: str, sets: int) -> None:
    nodes = _machines(4, 4)
    pods = [each.on(f"m{number}") for number, each in enumerate(_pods(2, placement))]
    cache = filled(nodes, pods)
    assert len(drains(cache.snapshot(), cache.all_pods(), _POLICY_OF).sets) == sets


def test_a_score_of_the_class_favours_the_emptiest_node() -> None:
    policies = config.parse(_DOCUMENT).policies()
    cache = filled(_machines(4, 4), [pod("x").requests(cpu="2").on("m0")])
    nodes = cache.snapshot().nodes
    for placement, best in (("pack", 0), ("spread", 1)):
        one = _pods(1, placement)[0].build()
        [scores] = [t.scores for t in policies.of(one).terms(one, nodes) if t.rule.name == "resource_fit"]
        assert int(scores.argmax()) == best
