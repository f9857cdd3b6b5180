"""Requests one after the other: nobody gets room that is taken, and the dollars are those of the nodes."""

import math

import pytest

from tests.builders import node, pod
from tests.fleet.cases import NOW, nodes, request, site
from tradewind.fleet.plan import dollars, plan
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.sites import Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_PRICE_ALONE = SitePolicy(weights=dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"price": 1.0})


def test_each_sees_what_those_before_it_have_left() -> None:
    sites = Sites([site("a", *nodes(1, 0.1)), site("b", *nodes(1, 0.4))])
    first, second, third = plan([request(3), request(3), request(3)], sites, lambda _: _PRICE_ALONE, NOW)
    assert first.decision.division == {"a": 3}
    assert second.decision.division == {"a": 1, "b": 2}
    assert not third.decision.placed
    # A core of 4 is a quarter of a node.
    assert [first.dollars, second.dollars] == pytest.approx([0.075, 0.025 + 0.2])


def test_the_cheapest_nodes_of_a_site_are_paid_first() -> None:
    sites = Sites([site("a", node("cheap").price(0.1), node("dear").price(0.8))])
    assert dollars(request(6), sites, {"a": 6}) == pytest.approx(4 * 0.025 + 2 * 0.2)


def test_replicas_that_fill_their_site_cost_what_they_would_with_room() -> None:
    filled = [pod("p").requests(cpu="4", memory="4Gi").on("n0")]
    sites = Sites([site("a", *nodes(1, 0.1), pods=filled)])
    assert dollars(request(4, current={"a": 4}), sites, {"a": 4}) == pytest.approx(0.1)


def test_what_is_not_known_is_not_made_up() -> None:
    sites = Sites([site("a", node("n"))])
    assert math.isnan(dollars(request(1), sites, {"a": 1}))
    assert math.isnan(dollars(request(1), sites, {"gone": 1}))
