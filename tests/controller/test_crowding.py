"""Pods crowd where they ask for much of what is free; sooner where they are tied to each other."""

import pytest

from tests.builders import PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.controller.crowding import Crowding
from tradewind.planner.settings import BatchSettings, PlannerSettings

_HOST = "kubernetes.io/hostname"
_SETTINGS = PlannerSettings(batch=BatchSettings(seconds=10, max_pods=20), hold_seconds=30)


def _waiting(cpu: str) -> PodBuilder:
    return pod("p").requests(cpu=cpu)


def _copies(start: PodBuilder, count: int, name: str = "p") -> list[PodBuilder]:
    names = [f"{name}-{number}" for number in range(count)]
    return [start.field("metadata", "name", value=each).uid(each) for each in names]


class _World:
    """Two nodes of 10 cores, one of which is full."""

    def __init__(self) -> None:
        self.now = 0.0
        self.cache = Cache(offer_of)
        for name in ("a", "b"):
            self.cache.apply_node(node(name).cpu("10").memory("100Gi").pods(1000).build())
        self.add([pod("running").requests(cpu="10").on("a")])
        self._crowding = Crowding(self.cache, lambda: self.now)

    def add(self, pods: list[PodBuilder]) -> None:
        for each in pods:
            self.cache.apply_pod(each.build())

    def paused(self) -> None:
        self._crowding.paused()

    def crowded(self) -> bool:
        return self._crowding.crowded(_SETTINGS)


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        pytest.param(_copies(_waiting("1"), 5), True, id="half of what is free"),
        pytest.param(_copies(_waiting("1"), 4), False, id="less"),
        pytest.param(_copies(_waiting("10"), 1), False, id="one pod is no crowd"),
        pytest.param(
            _copies(_waiting("1").requests({"example.com/gpu": 1}, cpu="1"), 2), False, id="nobody has that"
        ),
        *(
            pytest.param(_copies(tied, 2), True, id=name)
            for name, tied in {
                "anti-affinity": _waiting("250m").anti_affinity(_HOST, {"app": "x"}),
                "affinity": _waiting("250m").affinity(_HOST, {"app": "x"}),
                "spread": _waiting("250m").spread(_HOST, {"app": "x"}),
            }.items()
        ),
        pytest.param(
            _copies(_waiting("240m").spread(_HOST, {"app": "x"}), 2), False, id="tied, with much room"
        ),
        pytest.param(
            [
                *_copies(_waiting("250m").spread(_HOST, {"app": "x"}), 1),
                *_copies(_waiting("250m"), 3, "free"),
            ],
            True,
            id="one in four is tied",
        ),
        pytest.param(
            [
                *_copies(_waiting("250m").spread(_HOST, {"app": "x"}), 1),
                *_copies(_waiting("250m"), 4, "free"),
            ],
            False,
            id="one in five",
        ),
    ],
)
def test_pods_crowd_where_they_ask_for_much_of_what_is_free(pods: list[PodBuilder], found: bool) -> None:
    world = _World()
    world.add(pods)
    assert world.crowded() is found


def test_pods_that_have_waited_for_long_lack_a_place_and_no_company() -> None:
    world = _World()
    world.add(_copies(_waiting("1"), 9))
    assert world.crowded()
    for now, found in ((10.0, True), (10.1, False), (30.0, False)):
        world.now = now
        assert world.crowded() is found
    world.add(_copies(_waiting("1"), 5, "new"))
    assert world.crowded(), "others came since"


_SPREAD = _waiting("200m").spread(_HOST, {"app": "x"})


def test_pods_that_are_tied_to_bound_ones_crowd_with_them() -> None:
    """0.4 of 10 cores are less than a twentieth, and 0.6 are more."""
    world = _World()
    world.add(_copies(_SPREAD, 2))
    assert not world.crowded()
    world.add([each.on("b") for each in _copies(_SPREAD, 2)])
    world.add(_copies(_SPREAD, 1, "third"))
    assert world.crowded()
    world.add([each.on("b") for each in _copies(_SPREAD, 1, "third")])
    assert not world.crowded(), "nobody waits"
    world.now = 11.0
    world.add(_copies(_SPREAD, 1, "late"))
    assert not world.crowded(), "the others came long before"


def test_what_pods_that_came_with_others_took_was_free_for_them() -> None:
    """Of 1.04 cores 0.05 are less than a twentieth; of the one core that is left they would be that."""
    world = _World()
    world.add([pod("large").requests(cpu="8960m").on("b")])
    start = pod("p").requests(cpu="10m").spread(_HOST, {"app": "x"})
    world.add(_copies(start, 4))
    assert not world.crowded()
    world.add([each.on("b") for each in _copies(start, 4)])
    world.add(_copies(start, 1, "late"))
    assert not world.crowded()


def test_what_was_bound_is_no_part_of_what_others_ask_for() -> None:
    """9 cores are bound, and 0.4 of the one that is left are less than a half."""
    world = _World()
    world.add(_copies(_waiting("1"), 9))
    assert world.crowded()
    world.add([each.on("b") for each in _copies(_waiting("1"), 9)])
    world.add(_copies(_waiting("200m"), 2, "late"))
    assert not world.crowded()


def test_without_nodes_nobody_crowds() -> None:
    cache = Cache(offer_of)
    for each in _copies(_waiting("1"), 3):
        cache.apply_pod(each.build())
    assert not Crowding(cache).crowded(_SETTINGS)


def _come(world: _World, step: int) -> bool:
    """Whether it is a crowd when three more pods have come, every 5 s."""
    world.now = 5.0 * step
    world.add(_copies(_waiting("2"), 3, f"at-{step}"))
    return world.crowded()


def test_a_crowd_without_an_end_is_not_waited_for() -> None:
    world = _World()
    assert [_come(world, step) for step in range(9)] == [True] * 7 + [False] * 2
    world.paused()
    assert _come(world, 9), "another crowd"


def test_a_crowd_that_found_room_is_over() -> None:
    world = _World()
    assert _come(world, 0)
    world.cache.apply_node(node("c").cpu("1000").pods(1000).build())
    assert not _come(world, 1)
    world.cache.apply_node(node("c").cpu("1").pods(1000).build())
    assert _come(world, 7), "else it would have gone on for too long"


def test_more_pods_than_a_plan_takes_are_no_crowd() -> None:
    world = _World()
    world.add(_copies(_waiting("1"), 20))
    assert world.crowded()
    world.add(_copies(_waiting("1"), 1, "one more"))
    assert not world.crowded()
