"""Room of moves in flight, as a replica that is asked about other pods counts it."""

from datetime import UTC, datetime

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.planner.moves.reservations import Reservations
from tradewind.planner.plan_annotation import MOVE, PlanAnnotation


def web(name: str, *, until: float | None = 100.0, to: str = "m") -> PodBuilder:
    built = pod(name).uid(name).owner("ReplicaSet", "web", "web").requests(cpu="1").on("n")
    return built if until is None else built.annotation(MOVE, PlanAnnotation(to, until, uid=name).text())


_2099 = datetime(2099, 1, 1, tzinfo=UTC).timestamp()
STRANGER = pod("stranger").owner("ReplicaSet", "other", "other").build()
SISTER = pod("sister").owner("ReplicaSet", "web", "web").build()


class World:
    def __init__(self, *nodes: NodeBuilder) -> None:
        self.now = 50.0
        self.cache = Cache(offer_of)
        for each in nodes or (node("n"), node("m")):
            self.cache.apply_node(each.build())
        self.reservations = Reservations(
            self.cache.moving, self.cache.pods, self.cache.pods_on, lambda: self.now
        )

    def apply(self, each: PodBuilder) -> None:
        self.cache.apply_pod(each.build())

    def taken(self, asking: object = STRANGER) -> list[tuple[str, str]]:
        found = self.reservations.against(asking)  # type: ignore[arg-type]
        return [(each.name, each.node_name) for each in found]


def test_the_target_has_less_room_for_others_and_all_of_it_for_the_workload() -> None:
    world = World()
    world.apply(web("a"))
    assert world.taken() == [("a-moved", "m")]
    assert world.taken(SISTER) == []
    snapshot = world.cache.snapshot().with_pods(world.reservations.against(STRANGER))
    row = snapshot.row_of["m"]
    cpu = snapshot.nodes.resource_rows["cpu"]
    before = world.cache.snapshot().nodes.columns.free[cpu, row]
    assert snapshot.nodes.columns.changed[row][cpu] == before - 1000


def test_it_ends_with_its_time_the_annotation_or_a_while_after_the_pod() -> None:
    world = World()
    world.apply(web("a"))
    world.now = 100.0
    assert world.taken() == []
    world.now = 50.0
    world.apply(web("a", until=None))
    assert world.taken() == []
    world.apply(web("a"))
    assert world.taken()
    world.cache.remove_pod("a")
    assert world.taken() == [("a-moved", "m")]
    world.now = 60.0
    assert world.taken() == []


def test_a_replacement_on_the_target_ends_one_reservation_and_is_not_counted_twice() -> None:
    world = World()
    world.apply(web("before", until=None).on("m"))
    world.apply(web("a"))
    world.apply(web("b"))
    assert world.taken() == [("a-moved", "m"), ("b-moved", "m")]
    world.apply(web("a2", until=None).on("m"))  # while a is still ending
    assert world.taken() == [("b-moved", "m")]
    world.cache.remove_pod("a")
    assert world.taken() == [("b-moved", "m")]
    world.cache.remove_pod("b")
    assert world.taken() == [("b-moved", "m")]
    world.apply(web("b2", until=None).on("m"))
    assert world.taken() == []
    world.cache.remove_pod("b2")  # so short was its life
    assert world.taken() == []


def test_a_pod_elsewhere_or_of_others_ends_no_reservation() -> None:
    world = World()
    world.apply(web("a"))
    assert world.taken()
    world.apply(web("a2", until=None).on("n"))
    world.apply(pod("c").uid("c").owner("ReplicaSet", "other", "other").on("m"))
    assert world.taken() == [("a-moved", "m")]


def test_what_makes_no_sense_is_ignored() -> None:
    world = World()
    world.apply(web("a", until=None).annotation(MOVE, "{"))
    world.apply(web("b", to="gone"))
    assert world.taken() == [("b-moved", "gone")]
    world.cache.snapshot().with_pods(world.reservations.against(STRANGER))
    world.apply(pod("c").uid("c").annotation(MOVE, PlanAnnotation("m", 100.0, uid="c").text()))  # on no node
    assert world.taken() == [("b-moved", "gone")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PlanAnnotation("m", _2099).text(), id="without a UID"),
        pytest.param(PlanAnnotation("m", _2099, uid="b").text(), id="with the UID of another pod"),
        pytest.param(PlanAnnotation("m", _2099, uid="a").text(), id="with its UID, for too long"),
        pytest.param(PlanAnnotation("m", 7251.0, uid="a").text(), id="for two hours and a second"),
    ],
)
def test_a_forged_annotation_reserves_nothing_while_the_pod_is_there_and_after(text: str) -> None:
    """It is 50 seconds past: the longest that is believed is until 7250."""
    world = World()
    world.apply(web("a", until=None).annotation(MOVE, text))
    assert world.taken() == []
    world.cache.remove_pod("a")
    assert world.taken() == []


def test_room_is_kept_for_two_hours_at_most() -> None:
    world = World()
    world.apply(web("a", until=7250.0))
    assert world.taken() == [("a-moved", "m")]
    world.now = 7250.0
    assert world.taken() == []


def test_a_reservation_that_the_pod_was_created_with_takes_no_room() -> None:
    """Whoever writes a template can write the annotation into it, but not the UID of its pods."""
    world = World()
    world.apply(web("copied", until=None).annotation(MOVE, PlanAnnotation("m", 100.0).text()))
    world.apply(web("replica", until=None).annotation(MOVE, PlanAnnotation("m", 100.0, uid="first").text()))
    assert world.taken() == []
    world.apply(web("moved"))
    assert world.taken() == [("moved-moved", "m")]


def test_a_pod_of_another_namespace_that_names_the_controller_ends_no_reservation() -> None:
    world = World()
    world.apply(web("a"))
    assert world.taken()
    world.apply(web("forged", until=None).namespace("evil").on("m"))
    assert world.taken() == [("a-moved", "m")]
    world.apply(web("b", until=None).on("m"))
    assert world.taken() == []
