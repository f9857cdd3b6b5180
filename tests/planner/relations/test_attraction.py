"""Classes that follow others. Two zones of two nodes each, and a node outside of both."""

import numpy as np
import pytest

from tradewind.planner.relations.attraction import Attraction

_ZONES = np.array([0, 0, 1, 1, -1])


def _attraction(*, targets: set[int], existing: tuple[int, int] = (0, 0)) -> Attraction:
    followers = frozenset({0})
    return Attraction(
        codes=(_ZONES,),
        existing=(np.array(existing),),
        followers=followers,
        targets=frozenset(targets),
        starters=followers & targets,
    )


def _room(relation: Attraction, *placed: tuple[int, int]) -> list[int]:
    tally = relation.tally()
    for index, row in placed:
        tally.count(index, row, 1)
    room = np.full(5, 9)
    tally.admit(0, room)
    return room.tolist()


def test_followers_go_where_targets_are() -> None:
    assert _room(_attraction(targets={1})) == [0, 0, 0, 0, 0]
    assert _room(_attraction(targets={1}), (1, 2)) == [0, 0, 9, 9, 0]
    assert _room(_attraction(targets={1}, existing=(1, 0))) == [9, 9, 0, 0, 0]


def test_the_first_of_a_kind_goes_to_any_domain_and_alone() -> None:
    relation = _attraction(targets={0})
    assert _room(relation) == [9, 9, 9, 9, 0]
    tally = relation.tally()
    assert tally.limit(0, 7) == 1
    tally.count(0, 0, 1)
    assert tally.limit(0, 7) == 7


def test_anchors_come_before_followers() -> None:
    relation = _attraction(targets={0, 1})
    assert relation.anchors() == {1}
    assert relation.dependents() == {0}
    assert relation.first() == {0}


@pytest.mark.parametrize(
    ("existing", "first", "second", "joins"),
    [
        pytest.param((1, 0), (0, 0), (0, 1), True, id="where there is somebody to follow"),
        pytest.param((1, 0), (0, 0), (0, 2), False, id="not where there is nobody"),
        pytest.param((0, 0), (0, 0), (0, 1), True, id="the first ones in one domain"),
        pytest.param((0, 0), (0, 0), (0, 2), False, id="the first ones in two"),
        pytest.param((0, 0), (1, 2), (0, 0), False, id="a first one, with a target elsewhere"),
        pytest.param((0, 0), (0, 0), (1, 2), False, id="a target, with a first one elsewhere"),
    ],
)
def test_who_may_join_a_wave(
    existing: tuple[int, int], first: tuple[int, int], second: tuple[int, int], joins: bool
) -> None:
    wave = _attraction(targets={0, 1}, existing=existing).tally().wave()
    assert wave.admit(*first, 3) == 3
    wave.book(*first, 3)
    assert wave.admit(*second, 2) == (2 if joins else 0)
