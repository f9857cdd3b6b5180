"""Pods on their way to a node are sent elsewhere where that makes room for others, and for nothing else."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.builders import PodBuilder, expression, node
from tests.controller.test_planning import World, held, placed, planned, unplaced, waiting
from tradewind.cluster.objects import Pod
from tradewind.controller import planning, replanning
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.orders import Order, Orders
from tradewind.controller.planning import Planning
from tradewind.planner import selection
from tradewind.planner.engine import optimise
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.planner import PlanResult, plan
from tradewind.planner.problem import Assignment, Outcome, Problem
from tradewind.planner.worker import Result, Worker


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A cheap node of 2 cores and a dear one of 1: what wants 2 cores has one place."""
    world = World(tmp_path / "settings.yaml")
    world.cache.apply_node(node("a").cpu(2).price(1).build())
    world.cache.apply_node(node("b").cpu(1).price(9).build())
    return world


def claimed(world: World, *orders: Order) -> list[bool]:
    async def claim() -> list[bool]:
        return [await world.planning.promises.claim(order) for order in orders]

    return asyncio.run(claim())


def diverted(orders: Orders) -> dict[str, str]:
    return {order.pod.name: order.plan.node for order in orders.diverted}


def test_an_order_that_nobody_has_claimed_is_replaced(world: World) -> None:
    world.add(held("x"))
    first = world.decide()
    assert placed(first) == {"x": "a"}
    world.add(held("y", 2))
    second = world.decide()
    assert (placed(second), diverted(second)) == ({"x": "b", "y": "a"}, {})
    assert claimed(world, *first.placed()) == [False]
    assert claimed(world, *second.placed()) == [True, True]


def test_a_pod_that_was_ungated_is_diverted_before_the_others_are_written(world: World) -> None:
    world.add(planned(waiting("x"), "a"), held("y", 2))
    orders = world.decide()
    assert (placed(orders), diverted(orders)) == ({"y": "a"}, {"x": "b"})
    world.add(held("z"))
    assert placed(world.decide()) == {}, "its new place is taken"


def test_a_pod_is_diverted_for_one_of_higher_priority_instead_of_one_of_lower(world: World) -> None:
    world.add(planned(waiting("x"), "a"), held("y", 2).priority(5), held("z"))
    orders = world.decide()
    assert (placed(orders), diverted(orders)) == ({"y": "a"}, {"x": "b"})


def test_what_is_being_written_stays(world: World) -> None:
    world.add(held("x"))
    assert claimed(world, *world.decide().placed()) == [True]
    world.add(held("y", 2))
    orders = world.decide()
    assert (placed(orders), diverted(orders), unplaced(world, orders)) == ({}, {}, ["y"])


def on_node(world: World) -> None:
    world.add(waiting("x").on("a"))


def nominated_by_another(world: World) -> None:
    """kube-scheduler has made room for it."""
    world.add(planned(waiting("x"), "a").field("status", "nominatedNodeName", value="b"))


@pytest.mark.parametrize("x", [on_node, nominated_by_another], ids=lambda x: x.__name__)
def test_what_is_not_ours_to_send_stays(world: World, x: Callable[[World], None]) -> None:
    x(world)
    world.add(held("y", 2))
    orders = world.decide()
    assert (placed(orders), diverted(orders), unplaced(world, orders)) == ({}, {}, ["y"])


@pytest.mark.parametrize(
    ("newcomer", "places"),
    [
        pytest.param(lambda: held("y", 3), {}, id="it has no place in any case"),
        pytest.param(lambda: held("y", 2), {}, id="it has one only if others lose theirs"),
        pytest.param(lambda: held("y", 2).priority(9_000), {}, id="the same, with a higher priority"),
        pytest.param(lambda: held("y"), {"y": "a"}, id="it has a place anyway"),
    ],
)
def test_nobody_is_written_on_for_nothing(
    world: World, newcomer: Callable[[], PodBuilder], places: dict[str, str]
) -> None:
    world.add(planned(waiting("x"), "a"), waiting("z").on("b"), newcomer())
    orders = world.decide()
    assert (placed(orders), diverted(orders)) == (places, {})


def test_a_pod_that_stays_is_written_again_so_that_others_wait_for_it(world: World) -> None:
    """Followers of an anchor in flight are written when it is bound."""
    world.cache.apply_node(node("c").cpu(3).price(20).label("large", "true").build())
    anchor = waiting("anchor").label("app", "anchor").node_selector("large", "true")
    follower = held("follower", 2).affinity("kubernetes.io/hostname", {"app": "anchor"})
    small = waiting("x").node_term(expression("large", "DoesNotExist"))
    world.add(planned(anchor, "c"), planned(small, "a"), held("y", 2), follower)
    orders = world.decide()
    assert diverted(orders) == {"x": "b"}
    waves = [sorted(order.pod.name for order in wave) for wave in orders.waves]
    assert waves == [["anchor", "y"], ["follower"]]


def test_a_plan_whose_pods_could_not_be_diverted_is_made_anew(world: World) -> None:
    world.add(planned(waiting("x"), "a"), held("y", 2))
    orders = world.decide()
    world.add(waiting("x").on("a"))
    before = world.cache.work()
    world.planning.abandon(orders)
    assert world.cache.work() != before, "nobody would look again"
    again = world.decide()
    assert (placed(again), diverted(again), unplaced(world, again)) == ({}, {}, ["y"])


def test_orders_cannot_be_claimed_while_they_may_be_replaced(world: World) -> None:
    world.add(held("x"))
    (order,) = world.decide().placed()
    promises = world.planning.promises

    async def claim() -> tuple[bool, bool]:
        promises.suspend()
        claiming = asyncio.create_task(promises.claim(order))
        await asyncio.sleep(0.05)
        early = claiming.done()
        promises.resume()
        return early, await claiming

    assert promises.unclaimed().keys() == {order.pod.uid}
    assert asyncio.run(claim()) == (False, True)
    assert promises.unclaimed() == {}


def test_nothing_is_claimed_while_a_pod_has_no_place_and_anything_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the greedy plan on, before the solvers are asked."""
    suspended: list[bool] = []
    promises = world.planning.promises
    suspend, resume = promises.suspend, promises.resume

    def noted(*, now: bool) -> None:
        suspended.append(now)
        (suspend if now else resume)()

    def joint(*_: object) -> None:
        suspended.append(True)

    monkeypatch.setattr(replanning.Replanning, "_together", lambda *_: None)
    monkeypatch.setattr(promises, "suspend", lambda: noted(now=True))
    monkeypatch.setattr(promises, "resume", lambda: noted(now=False))
    world.add(held("x"))
    first = world.decide()
    assert suspended == [False], "it has a place"
    monkeypatch.setattr(replanning.Replanning, "joint", joint)
    world.add(held("y", 2))
    world.decide()
    assert suspended == [False, True, True, False], "before the second plan is looked for"
    assert claimed(world, *first.placed()) == [True]


def test_what_was_promised_since_is_not_forgotten(world: World) -> None:
    world.add(held("x"))
    first = world.decide()
    world.add(held("y", 2))
    second = world.decide()
    world.planning.promises.forget(first.placed())
    assert placed(world.decide()) == {}
    world.planning.promises.forget(second.placed())
    assert placed(world.decide()).keys() == {"x", "y"}


def test_pods_that_no_node_is_large_enough_for_cost_no_second_solve(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    solves: list[int] = []

    def counted(*args: Any, **options: Any) -> PlanResult:
        solves.append(1)
        return plan(*args, **options)

    monkeypatch.setattr(planning, "plan", counted)
    world.add(planned(waiting("x"), "a"), held("huge", 3))
    world.decide()
    assert len(solves) == 1
    world.add(held("y", 2))
    world.decide()
    assert len(solves) == 3


@pytest.mark.parametrize(
    ("going", "patient"),
    [
        pytest.param(None, [True], id="nobody is on the way"),
        pytest.param(
            lambda: planned(waiting("x"), "a"),
            [False, True],
            id="with x there may be a place",
        ),
        pytest.param(
            lambda: planned(waiting("x"), "a").field("status", "nominatedNodeName", value="b"),
            [False, True],
            id="x is not ours to send",
        ),
    ],
)
def test_a_place_is_looked_for_with_patience_once(
    world: World, monkeypatch: pytest.MonkeyPatch, going: Callable[[], PodBuilder] | None, patient: list[bool]
) -> None:
    """The pod on its way is planned in the test, not when pytest collects it: a plan has an end."""
    seen: list[bool] = []

    def noted(*args: Any, patience: Callable[[Sequence[Pod]], float], **options: Any) -> PlanResult:
        seen.append(patience(world.cache.pods(["default/y"])) > 0)
        return plan(*args, patience=patience, **options)

    monkeypatch.setattr(planning, "plan", noted)
    world.add(*([going()] if going else []), held("y", 2))
    world.decide()
    assert seen == patient


@pytest.mark.parametrize(
    ("seconds", "tried"),
    [
        pytest.param((0, 1, 2, 3, 4, 5, 9), [0, 1, 2, 4, 9], id="after twice as long"),
        pytest.param((10, 19, 20), [10, 20], id="it has waited for long before"),
    ],
)
def test_a_pod_for_which_no_other_makes_room_is_tried_less_and_less(
    world: World, monkeypatch: pytest.MonkeyPatch, seconds: Sequence[float], tried: list[float]
) -> None:
    found: list[float] = []
    now = [0.0]

    def in_vain(*_: object) -> bool:
        found.append(now[0])
        return False

    monkeypatch.setattr(replanning, "places_more", in_vain)
    created = held("y", 2)
    start = selection.created_at(created.build())
    world.planning = Planning(
        world.cache,
        world.settings,
        None,
        PlanMetrics(CollectorRegistry()),
        clock=lambda: start + now[0],
        passing=lambda: 0.0,
    )
    world.add(planned(waiting("x"), "a"), created)
    for now[0] in seconds:
        world.decide()
    assert found == tried


class Solver(Worker):
    """Searches in this process, and says that the solvers did."""

    loaded = True

    def solve(self, problem: Problem, baseline: Assignment, *_: Any, **__: Any) -> Result:
        found = [Outcome(baseline, "cp-sat")]
        optimise(problem, baseline, 5, found.append)
        return Result(found[-1], "")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many are enough to be planned once more."""
    monkeypatch.setattr(replanning, "_FEWEST", 4)


def half_planned(tmp_path: Path, *first: PodBuilder, **planner: Any) -> World:
    """A node of 4 cores for 4 dollars, two of 2 for 3 each: two pods belong on a small one, four do not."""
    world = World(tmp_path / "settings.yaml", rent=0, **planner)
    for name in ("a", "b"):
        world.cache.apply_node(node(name).cpu(2).price(3).build())
    world.cache.apply_node(node("large").cpu(4).price(4).build())
    world.planning = Planning(world.cache, world.settings, Solver(), PlanMetrics(CollectorRegistry()))
    world.add(*first)
    assert set(placed(world.decide()).values()) == {"a"}, "the cheapest for these alone"
    world.add(held("y-0"), held("y-1"))
    return world


@pytest.mark.usefixtures("few")
def test_a_burst_in_two_pieces_is_planned_as_one(tmp_path: Path) -> None:
    """Else they would be on two nodes for 6 dollars."""
    world = half_planned(tmp_path, held("x-0"), held("x-1"))
    orders = world.decide()
    assert placed(orders) == dict.fromkeys(("x-0", "x-1", "y-0", "y-1"), "large")
    assert not world.planning.promises.suspended


@pytest.mark.usefixtures("few")
def test_what_is_claimed_is_not_planned_once_more(tmp_path: Path) -> None:
    world = half_planned(tmp_path, held("x-0"), held("x-1"))
    promises, until = world.planning.promises, time.time() + 300
    promises.make(
        [Order(each, PlanAnnotation("a", until)) for each in promises.unclaimed().values()], claimed=True
    )
    assert placed(world.decide()).keys() == {"y-0", "y-1"}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(lambda: [held("x-0", seconds=9), held("x-1", seconds=9)], id="who has waited for long"),
        pytest.param(
            lambda: [held(f"x-{number}").annotation("tradewind.dev/gang", "g") for number in range(2)],
            id="a gang",
        ),
    ],
)
def test_some_are_not_planned_once_more(tmp_path: Path, first: Callable[[], list[PodBuilder]]) -> None:
    world = half_planned(tmp_path, *first())
    assert placed(world.decide()).keys() == {"y-0", "y-1"}
    assert not world.planning.promises.suspended


@pytest.mark.usefixtures("few")
def test_too_many_for_one_batch_are_not_planned_once_more(tmp_path: Path) -> None:
    world = half_planned(tmp_path, held("x-0"), held("x-1"), batch={"maxPods": 3})
    assert placed(world.decide()).keys() == {"y-0", "y-1"}


def test_few_are_written_sooner_than_planned_once_more(tmp_path: Path) -> None:
    world = half_planned(tmp_path, held("x-0"), held("x-1"))
    assert placed(world.decide()).keys() == {"y-0", "y-1"}


@pytest.mark.usefixtures("few")
def test_many_are_not_held_up_for_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replanning, "_NEWCOMERS", 1.5)
    world = half_planned(tmp_path, held("x-0"), held("x-1"))
    assert placed(world.decide()).keys() == {"y-0", "y-1"}


@pytest.mark.usefixtures("few")
def test_where_one_would_lose_its_place_each_keeps_its_own(tmp_path: Path) -> None:
    """Nobody has room for 9 cores."""
    world = half_planned(tmp_path, held("x-0"), held("x-1"))
    world.add(held("huge", 9))
    orders = world.decide()
    assert placed(orders).keys() == {"y-0", "y-1"}
    assert unplaced(world, orders) == ["huge"]
    assert not world.planning.promises.suspended
