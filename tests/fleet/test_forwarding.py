"""A home prefers its own sites while they are about as good, and forwards what is much better elsewhere."""

from typing import Any

import pytest

from tests.fleet.cases import NOW, nodes, request, site
from tradewind.fleet.forwarding import AtHome, Route, route
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.sites import Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_PRICE_ALONE = SitePolicy(weights=dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"price": 1.0})
_HOMES = {"region eu": "me", "region us": "you", "region ": "you"}


def _route(eu: float, us: float, gap: float, replicas: int = 4, **fields: Any) -> Route:
    """Two sites with 4 places each, at these prices; those of eu are ours."""
    sites = Sites([site("e", *nodes(1, eu), region="eu"), site("u", *nodes(1, us), region="us")])
    at_home = AtHome(_HOMES.__getitem__, "me")
    return route(request(replicas, **fields), sites, _PRICE_ALONE, NOW, at_home=at_home, gap=gap)


# Prices 0.2 and 0.1, median 0.15: scores 3/7 and 3/5, a gap of 0.171.
@pytest.mark.parametrize(
    ("eu", "us", "gap", "division", "to"),
    [
        pytest.param(0.1, 0.2, 0.0, {"e": 4}, "", id="our own site is the best"),
        pytest.param(0.2, 0.1, 0.18, {"e": 4}, "", id="another is better, by less than the gap"),
        pytest.param(0.2, 0.1, 0.16, {"u": 4}, "you", id="another is better by more: forwarded"),
    ],
)
def test_by_the_gap(eu: float, us: float, gap: float, division: dict[str, int], to: str) -> None:
    found = _route(eu, us, gap)
    assert (found.decision.division, found.to) == (division, to)


def test_without_room_at_home_it_is_forwarded_whatever_the_gap() -> None:
    assert _route(0.2, 0.1, 1.0, replicas=5).to == "you"


def test_with_most_replicas_at_home_it_stays() -> None:
    found = _route(0.1, 0.2, 0.0, replicas=6)
    assert (found.decision.division, found.to) == ({"e": 4, "u": 2}, "")


def test_what_has_no_place_anywhere_is_told_here() -> None:
    found = _route(0.1, 0.1, 1.0, replicas=9)
    assert not found.decision.placed
    assert found.to == ""


def test_a_later_try_is_made_with_the_same_sites() -> None:
    """The policy is the one that made the decision: a conflict at home is not answered abroad."""
    assert _route(0.2, 0.1, 0.18).policy.filters[0].name == "at_home"
    assert _route(0.1, 0.2, 0.18).policy is _PRICE_ALONE
