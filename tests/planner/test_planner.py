"""When the solvers are asked, and what becomes of pods without a place."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scoring.filters.durable_floor import DurableFloor
from scoring.filters.min_available import PROBABILITY, REPLICAS, MinAvailable
from scoring.filters.resources import Resources
from scoring.policy import Policy
from scoring.rules import Filter
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import batch_of, copies, filled, policy_of
from tests.planner.check import violations
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.planner.planner import PlanResult, plan, within_reach
from tradewind.planner.problem import Outcome
from tradewind.planner.reasons import Proof
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.worker import Result, Worker


class _Asked(Worker):
    """Solvers that find nothing, and remember how long they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[tuple[float, float]] = []

    def solve(self, *args: Any, **options: Any) -> Result:
        _, floor, seconds = args
        self.seconds.append((seconds, options["patience"]))
        return Result(Outcome(floor, "greedy"), "")


def _plan(pods: list[PodBuilder], worker: Worker | None = None, **options: Any) -> PlanResult:
    cache = filled([node("n").cpu("2")], pods)
    return plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 2, **options)


def _pods(count: int) -> list[PodBuilder]:
    """Each has a place on the node of 2 cores, three of them not together."""
    return [*copies(pod("p").requests(cpu="1"), "p", 2), pod("q").requests(cpu="1500m")][:count]


@pytest.mark.parametrize(
    ("pods", "skip", "asked"),
    [
        pytest.param(2, False, [(2, 0.0)], id="no patience where all have a place"),
        pytest.param(3, False, [(2, 5.0)], id="patience for the one that has none"),
        pytest.param(2, True, [], id="skipped, as greedy is complete"),
        pytest.param(3, True, [(2, 5.0)], id="not skipped, as it is not"),
        pytest.param(0, False, [], id="nothing to plan"),
    ],
)
def test_when_the_solvers_are_asked(pods: int, skip: bool, asked: list[tuple[float, float]]) -> None:
    worker = _Asked()
    _plan(_pods(pods), worker, patience=lambda _: 5.0, skip_solver_if_complete=skip)
    assert worker.seconds == asked


class _Found(Worker):
    """Finds the greedy placement, by another engine."""

    def __init__(self, engine: str, *, impossible: bool = False) -> None:
        super().__init__()
        self._engine = engine
        self._impossible = impossible

    def solve(self, *args: Any, **_: Any) -> Result:
        return Result(Outcome(args[1], self._engine, self._impossible), "")


@pytest.mark.parametrize(
    ("worker", "proof"),
    [
        pytest.param(_Found("exact"), Proof.BEST, id="the best plan"),
        pytest.param(_Found("exact", impossible=True), Proof.BEST, id="the best plan, which says more"),
        pytest.param(_Found("greedy", impossible=True), Proof.FULL, id="there is no place for all"),
        pytest.param(_Found("cp-sat"), Proof.OPEN, id="not known"),
        pytest.param(None, Proof.NONE, id="nobody has looked"),
    ],
)
def test_a_pod_without_a_place_is_told_what_is_proved(worker: Worker | None, proof: Proof) -> None:
    bare = _plan(_pods(3))
    found = _plan(_pods(3), worker)
    assert found.plan.unplaced == {name: f"{why}{proof}" for name, why in bare.plan.unplaced.items()}


class _Nothing(Worker):
    """Says that the best is to place no pod."""

    def __init__(self, engine: str) -> None:
        super().__init__()
        self._engine = engine

    def solve(self, *_: Any, **__: Any) -> Result:
        return Result(Outcome({}, self._engine), "")


@pytest.mark.parametrize("engine", ["exact", "cp-sat", "flow", "covering+windows"])
def test_what_a_solver_leaves_out_and_has_a_place_is_placed(engine: str) -> None:
    found = _plan(_pods(2), _Nothing(engine))
    assert found.plan.unplaced == {}
    assert {each.node for each in found.plan.placements} == {"n"}


def test_a_batch_beyond_reach_is_left_to_greedy() -> None:
    """10 million pods times nodes for each second."""
    problem = batch_of(filled([node("n")], _pods(1))).problem
    [one] = problem.classes
    huge = replace(problem, classes=(replace(one, count=10_000_001),))
    assert not within_reach(huge, 1.0)
    assert within_reach(huge, 1.1)


def test_pools_are_not_planned_on_for_alternatives() -> None:
    pool = PoolTemplate(name="large", resources={"cpu": 16}, price=3)
    either = copies(pod("e").requests(cpu="1").annotation(hints.XOR, "either"), "e", 2)
    cache = filled([node("n").cpu("1")], [*either, pod("big").requests(cpu="9")])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, pools=[pool])
    assert found.pools == {"default/big": "large"}
    assert found.new_nodes == {"large": 1}


@pytest.mark.parametrize(
    ("emptied", "cpu", "chosen"),
    [
        pytest.param((), "1", "cheap", id="the cheaper of two nodes in use"),
        pytest.param(("cheap",), "1", "dear", id="not the one that pods are moved off"),
        pytest.param(("cheap",), "3", "cheap", id="unless no other has room"),
    ],
)
def test_a_node_that_is_being_emptied_is_filled_last(emptied: tuple[str, ...], cpu: str, chosen: str) -> None:
    nodes = [node("cheap").cpu("8").price(1.0), node("dear").cpu("3").price(1.2)]
    running = [pod(f"on-{name}").requests(cpu="1").on(name) for name in ("cheap", "dear")]
    cache = filled(nodes, [*running, pod("p").requests(cpu=cpu)])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, emptied=emptied)
    assert [each.node for each in found.plan.placements] == [chosen]


def test_opening_another_node_is_better_than_to_undo_moves() -> None:
    nodes = [node("emptied").cpu("8").price(1.0), node("spare").cpu("8").price(1.5)]
    cache = filled(nodes, [pod("leaves").requests(cpu="1").on("emptied"), pod("p").requests(cpu="3")])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, emptied=["emptied"])
    assert [each.node for each in found.plan.placements] == ["spare"]


@pytest.mark.parametrize("ignored", [frozenset[str](), frozenset({"example.com/slot"})])
def test_a_resource_that_kube_scheduler_ignores_does_not_keep_a_pod_from_its_plan(
    ignored: frozenset[str],
) -> None:
    """Of one slot on the node, two pods want one each."""
    slots = copies(pod("p").requests({"example.com/slot": "1"}, cpu="1"), "p", 2)
    cache = filled([node("n").cpu("2").resource("example.com/slot", "1")], slots)
    found = plan(cache.snapshot(), cache.all_pods(), _rules_of(Resources(ignored_resources=ignored)), None, 1)
    assert len(found.plan.placements) == (2 if ignored else 1)


@pytest.mark.parametrize(("probability", "durable"), [("0.9", 0), ("0.99999", 2)])
def test_a_plan_keeps_a_minimum_that_survives(probability: str, durable: int) -> None:
    """Of four replicas, on a durable node that costs ten times as much as the spot nodes."""
    spot = node("spot").cpu("8").price(0.1).label("karpenter.sh/capacity-type", "spot")
    nodes = [node("durable").cpu("2").price(1), spot.annotation("tradewind.dev/interruption-rate", "0.5")]
    one = pod("p").requests(cpu="1").owner("StatefulSet", "web", "web")
    one = one.annotation(REPLICAS, "2").annotation(PROBABILITY, probability)
    cache = filled(nodes, copies(one, "p", 4))
    found = plan(cache.snapshot(), cache.all_pods(), _rules_of(MinAvailable()), None, 1)
    places = [each.node for each in found.plan.placements]
    assert len(places) == 4
    assert places.count("durable") == durable


_SPOT = ("karpenter.sh/capacity-type", "spot")
_TAINTED = node("durable").cpu("8").taint("CriticalAddonsOnly")


@pytest.mark.parametrize(
    "rule", [DurableFloor(share=0.5), MinAvailable(2, 0.99999)], ids=lambda rule: rule.name
)
@pytest.mark.parametrize(
    ("durable", "wanted"),
    [
        pytest.param(_TAINTED, pod("p"), id="tainted"),
        pytest.param(node("durable").cpu("8").unschedulable(), pod("p"), id="cordoned"),
        pytest.param(node("durable").cpu("8"), pod("p").node_selector(*_SPOT), id="selects spot nodes"),
        pytest.param(node("durable").cpu("500m"), pod("p"), id="too small"),
    ],
)
def test_a_plan_gives_way_as_the_filter_does(rule: Filter, durable: NodeBuilder, wanted: PodBuilder) -> None:
    spot = node("spot").cpu("8").label(*_SPOT).annotation("tradewind.dev/interruption-rate", "0.5")
    web = wanted.requests(cpu="1").owner("StatefulSet", "web", "web")
    cache = filled([durable, spot], copies(web, "p", 4))
    found = plan(cache.snapshot(), cache.all_pods(), _rules_of(rule), None, 1).plan
    assert [each.node for each in found.placements] == ["spot"] * 4
    assert violations(cache, _rules_of(rule), found) == []


def test_pods_that_only_spot_nodes_take_count_as_there() -> None:
    """Of 6 pods 3 are to be on the durable node, of 4 that may use it."""
    nodes = [node("durable").cpu("3").price(9), node("spot").cpu("8").price(1).label(*_SPOT)]
    web = pod("p").requests(cpu="1").owner("StatefulSet", "web", "web")
    cache = filled(nodes, [*copies(web, "p", 4), *copies(web.node_selector(*_SPOT), "q", 2)])
    found = plan(cache.snapshot(), cache.all_pods(), _rules_of(DurableFloor(share=0.5)), None, 1).plan
    assert sorted(each.node for each in found.placements) == ["durable"] * 3 + ["spot"] * 3
    assert violations(cache, _rules_of(DurableFloor(share=0.5)), found) == []


def _rules_of(*rules: Filter) -> Callable[[Pod], Policy]:
    return lambda each: replace(policy_of(each), filters=rules)
