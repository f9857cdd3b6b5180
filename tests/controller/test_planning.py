"""What is decided for the pods that wait, from a cache alone."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from tests.builders import PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.orders import Orders
from tradewind.controller.planning import Planning
from tradewind.planner import gate, plan_annotation
from tradewind.planner.moves.drain import InFlight
from tradewind.planner.problem import Outcome
from tradewind.planner.worker import Result, Worker

_HEAD = {"apiVersion": "tradewind.dev/v1alpha1", "kind": "TradewindConfiguration"}


class World:
    """A cluster of two nodes of 2 cores, and what plans for it."""

    def __init__(self, path: Path, **settings: Any) -> None:
        path.write_text(yaml.safe_dump({**_HEAD, "planner": settings}))
        self.cache = Cache(offer_of)
        for name in ("a", "b"):
            self.cache.apply_node(node(name).cpu(2).price(1).build())
        self.settings = Settings(path, ConfigMetrics())
        self.planning = Planning(self.cache, self.settings, None, PlanMetrics(CollectorRegistry()))

    def add(self, *pods: PodBuilder) -> None:
        for each in pods:
            self.cache.apply_pod(each.build())

    def decide(self, *, news: bool = True) -> Orders:
        return self.planning.decide(news=news)


def test_in_the_shadow_nothing_is_planned_and_nobody_held(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    world = World(path)
    world.add(held("a"), waiting("b"))
    path.write_text(yaml.safe_dump({**_HEAD, "shadow": True}))
    world.settings.refresh(pytest.fail)
    orders = world.decide()
    assert [each.name for each in orders.ungate] == ["a"]
    assert not orders.waves


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "settings.yaml", holdSeconds=30)


def waiting(name: str, cpu: int | str = 1, *, seconds: float = 0) -> PodBuilder:
    created = datetime.now(UTC) - timedelta(seconds=seconds)
    text = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    return pod(name).requests(cpu=cpu).field("metadata", "creationTimestamp", value=text)


def held(name: str, cpu: int | str = 1, *, seconds: float = 0, by: str = gate.GATE) -> PodBuilder:
    gates = [{"name": by}]
    return waiting(name, cpu, seconds=seconds).field("spec", "schedulingGates", value=gates)


def rivals() -> list[PodBuilder]:
    """Each has a place on either node, but not all of them."""
    return [held("large", "1500m"), held("larger", "1600m"), held("largest", "1700m")]


def planned(base: PodBuilder, on: str, *, until: float = 60, nominated: bool = True) -> PodBuilder:
    until += datetime.now(UTC).timestamp()
    text = plan_annotation.PlanAnnotation(on, until, nominated=True).text()
    annotated = base.annotation(plan_annotation.ANNOTATION, text)
    return annotated.field("status", "nominatedNodeName", value=on) if nominated else annotated


def placed(orders: Orders) -> dict[str, str]:
    return {order.pod.name: order.plan.node for wave in orders.waves for order in wave}


def unplaced(world: World, orders: Orders) -> list[str]:
    return sorted(each.name for each in world.cache.pods(orders.unplaced))


def test_held_pods_and_pending_ones_are_planned_together(world: World) -> None:
    foreign = held("foreign").field("spec", "schedulingGates", value=[{"name": gate.GATE}, {"name": "other"}])
    elsewhere = waiting("elsewhere").field("spec", "schedulerName", value="another")
    world.add(held("x"), waiting("y"), foreign, elsewhere)
    assert placed(world.decide()).keys() == {"x", "y"}


def test_pods_behind_the_gate_of_the_version_before_are_planned_and_let_go(world: World) -> None:
    world.add(held("x", by=gate.OLD_GATE), held("large", 100, by=gate.OLD_GATE, seconds=3600))
    orders = world.decide()
    assert placed(orders).keys() == {"x"}
    assert [pod.name for pod in orders.overdue] == ["large"]


def test_a_pod_on_its_way_takes_room_on_its_node(world: World) -> None:
    world.add(planned(waiting("going", 2), "a"), held("x", 2))
    assert placed(world.decide()) == {"x": "b"}


def test_a_pod_whose_nomination_was_taken_back_is_planned_anew(world: World) -> None:
    world.add(planned(waiting("refused", 2), "a", nominated=False), held("x", 2))
    assert placed(world.decide()).keys() == {"refused", "x"}


def unschedulable(base: PodBuilder) -> PodBuilder:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return base.field("status", "conditions", value=[condition])


def test_a_pod_that_kube_scheduler_refused_is_planned_anew_without_a_nomination(world: World) -> None:
    """An autoscaler ignores pods that are nominated."""
    world.add(unschedulable(planned(waiting("refused", 2), "a")), held("x", 2))
    orders = world.decide()
    nominated = {order.pod.name: order.plan.nominated for order in orders.placed()}
    assert nominated == {"refused": False, "x": True}


def test_a_plan_that_has_run_out_takes_no_room_and_is_made_anew_without_news(world: World) -> None:
    world.add(planned(waiting("late", 2), "a", until=-1), held("x", 2))
    assert placed(world.decide(news=False)).keys() == {"late", "x"}


def test_what_is_being_written_is_neither_planned_twice_nor_given_away(world: World) -> None:
    world.add(held("x", 2))
    first = placed(world.decide())
    world.add(held("y", 2))
    second = placed(world.decide())
    assert first.keys() == {"x"}
    assert second.keys() == {"y"}
    assert first["x"] != second["y"]


def test_what_could_not_be_written_is_planned_again(world: World) -> None:
    world.add(held("x"))
    orders = world.decide()
    world.planning.promises.forget(orders.placed())
    assert placed(world.decide()).keys() == {"x"}


def names(pods: Iterable[Pod]) -> list[str]:
    return sorted(each.name for each in pods)


def staying(orders: Orders) -> list[str]:
    return names(each for each, _ in orders.staying_held())


def test_a_pod_that_no_node_can_take_is_ungated_at_once(world: World) -> None:
    """An autoscaler does not see pods that are held."""
    world.add(held("huge", 9), held("x", 1), waiting("free", 9))
    orders = world.decide()
    assert placed(orders).keys() == {"x"}
    assert unplaced(world, orders) == ["free", "huge"]
    assert names(orders.ungate) == names(orders.nodeless) == ["huge"]
    assert staying(orders) == []


def test_a_pod_that_kube_scheduler_finds_no_node_for_is_ungated_at_once(world: World) -> None:
    """The rules that requests are not judged by count here: an autoscaler may have a node with that label."""
    world.add(held("elsewhere").node_selector("disk", "none-has-it"), held("x"))
    orders = world.decide()
    assert placed(orders) == {"x": "a"}
    assert names(orders.ungate) == names(orders.nodeless) == ["elsewhere"]


def test_a_pod_stays_held_while_only_pods_that_are_not_bound_are_in_its_way(world: World) -> None:
    """Two nodes of 2 cores for three pods of more than 1: once two are bound, no node can take the third."""
    world.add(*rivals())
    orders = world.decide()
    left = staying(orders)
    assert (len(left), orders.ungate) == (1, [])
    first, *others = orders.placed()
    world.add(waiting(first.pod.name, 2).on(first.plan.node))
    assert world.decide(news=False).ungate == []
    world.add(*(waiting(order.pod.name, 2).on(order.plan.node) for order in others))
    orders = world.decide(news=False)
    assert names(orders.ungate) == names(orders.nodeless) == left
    assert staying(orders) == []


def member(name: str, cpu: int, *, needed: int, seconds: float = 0) -> PodBuilder:
    annotated = held(name, cpu, seconds=seconds).annotation("tradewind.dev/gang", "g")
    return annotated.annotation("tradewind.dev/gang-min", str(needed))


def test_a_gang_without_room_for_all_of_it_is_ungated_whole(world: World) -> None:
    """5 members of 1 core on two nodes of 2: each alone has a node, and so have four of them."""
    world.add(*(member(f"g-{number}", 1, needed=5) for number in range(4)))
    orders = world.decide()
    assert (orders.ungate, staying(orders)) == ([], ["g-0", "g-1", "g-2", "g-3"]), "one is yet to come"
    world.add(member("g-4", 1, needed=5))
    orders = world.decide()
    assert names(orders.ungate) == names(orders.nodeless) == [f"g-{number}" for number in range(5)]


def test_a_pod_without_a_place_stays_held_until_its_time_is_over(world: World) -> None:
    world.add(member("first", 1, needed=2, seconds=1))
    orders = world.decide()
    assert (orders.ungate, staying(orders)) == ([], ["first"])
    world.add(member("first", 1, needed=2, seconds=31))
    late = world.decide(news=False)
    assert names(late.ungate) == names(late.overdue) == ["first"]
    assert late.nodeless == []


def test_an_alternative_to_a_pod_that_has_a_place_stays_held(world: World) -> None:
    """An autoscaler would add a node for it in vain."""
    world.add(*(held(name).annotation("tradewind.dev/xor", "either") for name in ("x", "y")))
    orders = world.decide()
    left = staying(orders)
    assert (len(left), orders.ungate) == (1, [])
    (order,) = orders.placed()
    world.add(waiting(order.pod.name).annotation("tradewind.dev/xor", "either").on(order.plan.node))
    orders = world.decide(news=False)
    assert (staying(orders), orders.ungate) == (left, [])


def test_a_pod_that_nobody_holds_is_never_let_go(world: World) -> None:
    world.add(waiting("huge", 9, seconds=3600))
    orders = world.decide()
    assert unplaced(world, orders) == ["huge"]
    assert orders.ungate == []


def test_nothing_is_planned_twice_without_news(world: World) -> None:
    world.add(waiting("huge", 9))
    assert unplaced(world, world.decide()) == ["huge"]
    again = world.decide(news=False)
    assert (placed(again), again.ungate) == ({}, [])
    world.cache.apply_node(node("big").cpu(16).build())
    assert placed(world.decide(news=True)) == {"huge": "big"}


def test_a_planner_that_is_switched_off_lets_everybody_go(tmp_path: Path) -> None:
    world = World(tmp_path / "settings.yaml", enabled=False)
    foreign = held("foreign").field("spec", "schedulingGates", value=[{"name": gate.GATE}, {"name": "other"}])
    world.add(held("x"), held("y"), waiting("z"), foreign)
    orders = world.decide(news=False)
    assert sorted(each.name for each in orders.ungate) == ["x", "y"]
    assert orders.waves == ()


def test_a_full_batch_leaves_the_rest_for_the_next(tmp_path: Path) -> None:
    world = World(tmp_path / "settings.yaml", batch={"maxPods": 2})
    world.add(*(held(f"x-{number}", "100m") for number in range(3)))
    first = world.decide()
    assert (len(placed(first)), first.more) == (2, True)
    second = world.decide(news=False)
    assert (len(placed(second)), second.more) == (1, False)
    assert placed(first).keys().isdisjoint(placed(second))


def test_anchors_and_followers_are_in_waves(world: World) -> None:
    follower = held("follower").affinity("kubernetes.io/hostname", {"app": "anchor"})
    world.add(follower, held("anchor").label("app", "anchor"))
    waves = [[order.pod.name for order in wave] for wave in world.decide().waves]
    assert waves == [["anchor"], ["follower"]]


def test_a_held_pod_that_a_pool_could_grow_for_is_let_go_at_once(tmp_path: Path) -> None:
    pool = {"name": "big", "resources": {"cpu": 8, "memory": "8Gi"}, "price": 1}
    world = World(tmp_path / "settings.yaml", pools=[pool])
    world.add(
        held("fits"), held("large", 4), held("old", 4, seconds=60), held("larger", 40), waiting("free", 4)
    )
    orders = world.decide()
    assert placed(orders).keys() == {"fits"}
    assert {(each.name, name) for each, name in orders.on_pools} == {("large", "big"), ("old", "big")}
    assert names(orders.ungate) == ["large", "larger", "old"]
    assert names(orders.nodeless) == ["larger"]
    assert unplaced(world, orders) == ["free", "large", "larger", "old"]
    assert orders.overdue == []


def test_while_all_nodes_are_full_nobody_is_held(world: World) -> None:
    """Neither who may preempt others nor who may not."""
    never = held("never", 2).priority(9).field("spec", "preemptionPolicy", value="Never")
    world.add(*(waiting(f"on-{name}", 2).on(name) for name in ("a", "b")), held("equal", 2), never)
    refused = held("refused", 2).annotation("tradewind.dev/beside", "nobody")
    world.add(held("critical", 2).priority(9), held("large", 3).priority(9), refused)
    orders = world.decide()
    assert names(orders.ungate) == ["critical", "equal", "large", "never", "refused"]
    assert unplaced(world, orders) == names(orders.ungate)


class Idle(Worker):
    """Betters nothing, and counts how often it was to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.enough = bool  # whether there was enough of it; no

    loaded = True

    def solve(self, *args: Any, **options: Any) -> Result:
        self.asked += 1
        self.enough = options["enough"]
        return Result(Outcome(args[1], "greedy"), "")


@pytest.fixture
def idle(world: World, tmp_path: Path) -> Idle:
    worker = Idle()
    settings = Settings(tmp_path / "settings.yaml", ConfigMetrics())
    world.planning = Planning(world.cache, settings, worker, PlanMetrics(CollectorRegistry()))
    return worker


def test_solvers_that_better_nothing_are_asked_less_and_less(world: World, idle: Idle) -> None:
    rounds: list[int] = []
    for number in range(12):
        world.add(held(f"x-{number}", "10m"))
        before = idle.asked
        world.decide()
        if idle.asked > before:
            rounds.append(number)
    assert rounds == [0, 2, 6]
    before = idle.asked
    world.add(*rivals())
    world.decide()
    assert idle.asked > before, "a pod without a place is always worth asking"


def test_a_pod_that_no_node_takes_is_no_reason_to_ask_the_solvers(world: World, idle: Idle) -> None:
    for number in range(2):
        world.add(held(f"x-{number}", "10m"))
        world.decide()
    before = idle.asked
    world.add(held("huge", 9))
    orders = world.decide()
    assert idle.asked == before, "what they were asked in vain is skipped this time"
    assert [str(each) for each, _ in orders.unplaced.values()] == ["default/huge"]


def test_pods_that_no_node_can_take_do_not_wait_for_the_solvers(world: World, idle: Idle) -> None:
    asked_by: dict[str, int] = {}
    world.add(held("huge", 9), *rivals())
    orders = world.planning.decide(
        news=True, release=lambda early: asked_by.update(dict.fromkeys(names(early.ungate), idle.asked))
    )
    assert asked_by == {"huge": 0}
    assert idle.asked > 0
    assert len(staying(orders)) == 1


class Slow(Worker):
    """Betters nothing, and takes all the time that it is given."""

    loaded = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.patience: list[float] = []

    def solve(self, *args: Any, **options: Any) -> Result:
        self.patience.append(options["patience"])
        self.now += options["patience"]
        return Result(Outcome(args[1], "greedy"), "")


def rivals_of(namespace: str, number: int) -> list[PodBuilder]:
    return [each.namespace(namespace).uid(f"{namespace}-{number}-{i}") for i, each in enumerate(rivals())]


def test_a_tenant_whose_pods_never_have_a_place_takes_little_time_of_others_and_none_of_their_patience(
    tmp_path: Path,
) -> None:
    """New ones all the time: none of them has been tried before."""
    world, worker = World(tmp_path / "settings.yaml"), Slow()
    world.planning = Planning(
        world.cache, world.settings, worker, PlanMetrics(CollectorRegistry()), passing=lambda: worker.now
    )
    for number in range(100):
        pods = [*rivals_of("evil", number), held(f"x-{number}", "1m")]
        world.add(*pods)
        worker.now += 2
        assert f"x-{number}" in placed(world.decide())
        for each in pods:
            world.cache.remove_pod(each.build().uid)
    assert 0 < sum(worker.patience) < worker.now / 8
    assert worker.patience[-1] == 0
    world.add(*rivals_of("shop", 0))
    world.decide()
    assert worker.patience[-1] > 0, "the first that this namespace needs"


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single order that is not written is more than are planned again."""
    monkeypatch.setattr("tradewind.controller.planning.TOGETHER", 0)


@pytest.mark.usefixtures("behind")
def test_while_much_is_to_be_written_the_solvers_are_asked_for_those_without_a_place(
    world: World, idle: Idle
) -> None:
    for number in range(4):
        world.add(held(f"x-{number}", "10m"))
        assert world.decide().placed()
    assert idle.asked == 1, "for the first of them, when nothing was to be written"
    world.add(*rivals())
    world.decide()
    assert idle.asked == 3, "for them, and for them with the pods in flight"


def test_a_pod_that_has_a_place_does_not_wait_for_the_solvers_to_load(world: World, idle: Idle) -> None:
    idle.loaded = False
    for number in range(4):
        world.add(held(f"x-{number}", "10m"))
        assert world.decide().placed()
    assert idle.asked == 0
    idle.loaded = True
    world.add(held("y", "10m"))
    world.decide()
    assert idle.asked, "that they were not there is no reason to spare them"
    idle.loaded, before = False, idle.asked
    world.add(*rivals())
    world.decide()
    assert idle.asked > before, "a pod without a place waits: they may find it"


def test_there_was_enough_of_a_search_once_pods_that_came_meanwhile_have_waited(
    world: World, idle: Idle
) -> None:
    world.add(held("x", "10m"))
    world.decide()
    assert not idle.enough()
    time.sleep(0.02)  # longer than a pod would wait for one
    assert not idle.enough(), "nobody came"
    world.add(held("y", "10m"))
    deadline = time.monotonic() + 30
    while not idle.enough() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert idle.enough()


@pytest.mark.usefixtures("behind")
def test_many_pods_in_one_plan_are_worth_the_solvers_also_then(world: World, idle: Idle) -> None:
    idle.loaded = False
    world.add(held("x", "10m"))
    assert world.decide().placed()
    idle.loaded = True
    world.cache.apply_node(node("large").cpu(64).field("status", "allocatable", "pods", value="9999").build())
    world.add(*(held(f"x-{number}", "1m") for number in range(2000)))
    assert len(world.decide().placed()) == 2000
    assert idle.asked == 1


def test_only_a_gang_is_bound_to_its_plan(world: World) -> None:
    gang = held("together").annotation("tradewind.dev/gang", "g")
    world.add(gang, held("alone"))
    assert {order.pod.name: order.plan.strict for order in world.decide().placed()} == {
        "together": True,
        "alone": False,
    }


def test_what_replaces_a_moved_pod_goes_to_its_target_and_room_for_others_like_it_is_kept(
    tmp_path: Path,
) -> None:
    """Free choice would put all on one node; y is left without a place where room is kept for another."""
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump({**_HEAD, "planner": {}}))
    cache = Cache(offer_of)
    for name in ("a", "b"):
        cache.apply_node(node(name).cpu(2).price(1).build())
    kept = pod("kept").requests(cpu=2).on("a").build()
    cache.apply_pod(held("x", 2).build())

    def chosen(pins: dict[str, str], *taken: Pod) -> dict[str, str]:
        flight = InFlight(pins, taken)
        settings = Settings(path, ConfigMetrics())
        planning = Planning(cache, settings, None, PlanMetrics(), moves=lambda _: flight)
        return placed(planning.decide(news=True))

    uid = pod("x").build().uid
    assert [chosen({uid: target}) for target in ("a", "b")] == [{"x": "a"}, {"x": "b"}]
    cache.apply_pod(held("y", 2).build())
    assert chosen({uid: "b"}, kept) == {"x": "b"}
