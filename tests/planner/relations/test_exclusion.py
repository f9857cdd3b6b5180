"""Classes that share no domain. Two zones of two nodes each, and a node outside of both."""

import numpy as np

from tradewind.planner.relations.exclusion import Exclusion

_ZONES = np.array([0, 0, 1, 1, -1])


def _room() -> np.ndarray:
    return np.full(5, 9)


def test_each_side_keeps_out_of_the_domains_of_the_other() -> None:
    tally = Exclusion(codes=_ZONES, left=frozenset({0}), right=frozenset({1})).tally()
    tally.count(0, 0, 1)
    left, right = _room(), _room()
    tally.admit(0, left)
    tally.admit(1, right)
    assert left.tolist() == [9, 9, 9, 9, 9]
    assert right.tolist() == [0, 0, 9, 9, 9]


def test_a_class_that_keeps_away_from_itself_is_once_in_a_domain() -> None:
    tally = Exclusion(codes=_ZONES, left=frozenset({0}), right=frozenset({0})).tally()
    room = _room()
    tally.admit(0, room)
    assert room.tolist() == [1, 1, 1, 1, 9]
    gate = tally.gate(0)
    assert gate is not None
    gate.take(0)
    assert [gate.shut(place) for place in (0, 1, -1)] == [True, False, False]


def test_domains_of_one_node_need_no_gate() -> None:
    own = frozenset({0})
    assert Exclusion(codes=np.arange(5), left=own, right=own).tally().gate(0) is None


def test_what_leaves_is_no_longer_counted() -> None:
    tally = Exclusion(codes=_ZONES, left=frozenset({0}), right=frozenset({1})).tally()
    tally.count(0, np.array([0, 4]), np.array([2, 1]))
    tally.count(0, 0, -2)
    room = _room()
    tally.admit(1, room)
    assert room.tolist() == [9, 9, 9, 9, 9]
