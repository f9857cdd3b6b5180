"""What a burst costs, counted by hand."""

import pytest

from bench import dollars
from bench.contenders import GUIDED, TRADEWIND
from bench.dollars import Case, Outcome, Way
from bench.planner_cases import Object, node, pod

_SPOT = {"karpenter.sh/capacity-type": "spot"}


def _on(name: str, zone: str = "") -> Object:
    made = pod("p", 100, 100)
    made = dollars.preferring(made, zone) if zone else made
    return {**made, "spec": {**made["spec"], "nodeName": name}}


def test_nodes_in_use_are_paid_for_once_and_zones_are_counted_where_one_is_preferred() -> None:
    """1 + 3 dollars for a bound of 2; of two pods that prefer zone-a one is there."""
    nodes = [
        dollars.zoned(node("a", 1, 1, price=1.0, labels=_SPOT), "zone-a"),
        dollars.zoned(node("b", 1, 1, price=3.0), "zone-b"),
        dollars.zoned(node("empty", 1, 1, price=9.0), "zone-b"),
    ]
    found = dollars.outcome(
        Case(nodes=nodes, pods=(), bound=2.0),
        [_on("a", "zone-a"), _on("a"), _on("b", "zone-a"), _on("b")],
    )
    assert found == Outcome(dollars=2.0, kept=0.5, nodes=2, spot=0.5)


def test_without_a_preference_none_is_kept() -> None:
    nodes = [dollars.zoned(node("a", 1, 1, price=1.0), "zone-a")]
    assert dollars.outcome(Case(nodes=nodes, pods=(), bound=1.0), [_on("a")]).kept is None


@pytest.mark.parametrize(
    ("way", "name"),
    [
        (Way(contender=TRADEWIND, weight=10, percentage=0), "scores, weight 10"),
        (Way(contender=GUIDED, weight=141, percentage=100), "guide, weight 141, 100 % of nodes"),
    ],
)
def test_a_way_says_what_it_is(way: Way, name: str) -> None:
    assert way.name == name
