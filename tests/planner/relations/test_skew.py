"""Topology spread. Three domains of one node with 2, 1 and 0 pods; maxSkew is 1 unless told otherwise."""

import numpy as np
import pytest

from scoring.topology import SpreadDomains
from tradewind.planner.relations.skew import Skew


def _skew(*, max_skew: int = 1, enough: bool = True, counted: frozenset[int] = frozenset({0})) -> Skew:
    domains = SpreadDomains(
        codes=np.array([0, 1, 2, -1]),
        counting=np.array([0, 1, 2, -1]),
        existing=np.array([2, 1, 0]),
        eligible=np.ones(3, np.bool_),
        enough=enough,
        itself=True,
        max_skew=max_skew,
    )
    return Skew(bearer=0, domains=domains, counted=counted)


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        pytest.param(_skew(), [0, 0, 1, 0], id="up to 0 + 1"),
        pytest.param(_skew(max_skew=3), [1, 2, 3, 0], id="up to 0 + 3"),
        pytest.param(_skew(max_skew=2, enough=False), [0, 1, 2, 0], id="too few domains: up to 2"),
        pytest.param(_skew(counted=frozenset()), [0, 0, 9, 0], id="pods that are not counted"),
    ],
)
def test_room(relation: Skew, expected: list[int]) -> None:
    room = np.full(4, 9)
    relation.tally().admit(0, room)
    assert room.tolist() == expected


def test_others_are_counted_and_free() -> None:
    tally = _skew(counted=frozenset({0, 1})).tally()
    tally.count(1, 2, 1)
    bearer, other = np.full(4, 9), np.full(4, 9)
    tally.admit(0, bearer)
    tally.admit(1, other)
    assert bearer.tolist() == [0, 1, 1, 0]
    assert other.tolist() == [9, 9, 9, 9]


def test_pod_by_pod_the_emptiest_rises() -> None:
    gate = _skew().tally().gate(0)
    assert gate is not None
    opened = []
    for place in (2, 1, 2):
        assert not gate.shut(place)
        opened.append(gate.take(place))
    assert opened == [True, False, True]  # then 2, 2 and 2
    assert [gate.shut(place) for place in (0, 1, 2, -1)] == [False, False, False, True]


def test_a_wave_counts_on_the_emptiest_before_it() -> None:
    """Three pods more than 0 may be in a domain: with two already there is room for one, with one for two."""
    wave = _skew(max_skew=3).tally().wave()
    assert [wave.admit(0, row, 9) for row in range(4)] == [1, 2, 3, 0]
    wave.book(0, 2, 3)
    assert [wave.admit(0, row, 9) for row in range(4)] == [1, 2, 0, 0]


def test_others_join_a_wave_where_no_bearer_minds() -> None:
    wave = _skew(counted=frozenset({0, 1})).tally().wave()
    assert wave.admit(1, 2, 9) == 9
    wave.book(0, 2, 1)
    assert wave.admit(1, 2, 9) == 0
    assert wave.admit(1, 1, 9) == 9
