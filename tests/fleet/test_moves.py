"""Replicas follow a price that has fallen for long enough, and no price that goes up and down."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site
from tradewind.fleet.decision import decide
from tradewind.fleet.moves import Moves, gain
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.sites import Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_PRICE_ALONE = SitePolicy(weights=dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"price": 1.0})
_AGGREGATED = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
}


def _gain(a: float, b: float, **fields: Any) -> float:
    """Of 4 replicas that fill site a, at these prices of a node."""
    filled = [pod("p").requests(cpu="4", memory="4Gi").on("n0")]
    sites = Sites([site("a", *nodes(1, a), pods=filled), site("b", *nodes(1, b))])
    return gain(request(4, **({"current": {"a": 4}} | fields)), sites, _PRICE_ALONE, NOW)


def test_what_the_better_place_adds_to_the_score() -> None:
    # The median of 0.4 and 0.1 is 0.25: 0.25 / 0.35 at b, 0.25 / 0.65 at a.
    assert _gain(0.4, 0.1) == pytest.approx(0.25 / 0.35 - 0.25 / 0.65)


def test_a_full_site_is_not_left_for_one_that_is_dearer_or_the_same() -> None:
    """Its own replicas have filled it: without them the cheap nodes would be free."""
    assert _gain(0.1, 0.4) == 0
    assert _gain(0.1, 0.1) == 0


def test_own_nodes_count_at_their_best() -> None:
    """Two kinds of nodes at a, the cheap one full with our replicas: that b is cheaper than the dear one is
    no reason to leave.
    """
    filled = [pod("p").requests(cpu="4", memory="4Gi").on("cheap")]
    home = site("a", node("cheap").price(0.1), node("dear").price(0.9), pods=filled)
    sites = Sites([home, site("b", *nodes(1, 0.3))])
    asked = request(4, current={"a": 4})
    assert gain(asked, sites, _PRICE_ALONE, NOW) == 0
    assert decide(replace(asked, fresh=True), sites, _PRICE_ALONE, NOW).division == {"a": 4}


def test_whoever_has_no_choice_gains_nothing() -> None:
    duplicated = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    assert _gain(0.4, 0.1, placement={"clusterAffinity": {"clusterNames": ["a"]}, **_AGGREGATED}) == 0
    assert _gain(0.4, 0.1, placement=duplicated) == 0
    assert _gain(0.4, 0.1, current={}) == 0
    assert _gain(0.4, 0.1, excluded=frozenset("a")) == 0  # whoever excluded it decides about it
    assert _gain(0.4, 0.1, placement=_AGGREGATED) > 0


def test_a_gain_must_be_large_and_last() -> None:
    moves = Moves()

    def due(gained: float, now: float) -> bool:
        return moves.due("web", gained, least=0.1, seconds=60, now=now)

    assert not due(0.2, 0)
    assert not due(0.2, 59)
    assert not due(0.05, 60)  # it was not to last
    assert not due(0.2, 61)
    assert due(0.2, 121)
    assert not due(0.2, 122)  # a move is followed by the same wait


@pytest.mark.parametrize(("period", "expected"), [(30, 0), (59, 0), (300, 9)])
def test_prices_that_swing_move_nothing_faster_than_the_wait(period: int, expected: int) -> None:
    """Ten swings of two sites between cheap and dear; looked at every second."""
    cheaper, dearer = _gain(0.4, 0.1), _gain(0.1, 0.4)
    moves, here, moved = Moves(), "a", 0
    for second in range(period * 10):
        swung = (second // period) % 2
        cheap = "b" if swung else "a"
        gained = dearer if here == cheap else cheaper
        if moves.due("web", gained, least=0.1, seconds=60, now=second):
            here, moved = cheap, moved + 1
    assert moved == expected


def test_what_has_moved_stays() -> None:
    """Whatever the prices: the decision that a gain came from has none left itself."""
    prices = (0.1, 0.2, 0.4)
    for rates in itertools.permutations(prices):
        sites = Sites([site(name, *nodes(1, price)) for name, price in zip("abc", rates, strict=True)])
        asked = request(3, current={"a": 3})
        decision = decide(replace(asked, fresh=True), sites, _PRICE_ALONE, NOW)
        moved = replace(asked, current=decision.division)
        assert gain(moved, sites, _PRICE_ALONE, NOW) == pytest.approx(0)
