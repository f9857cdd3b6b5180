"""What the rules keep between requests never shows: after any changes they answer as plain Python does."""

from collections.abc import Callable
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NodeBuilder, node, pod
from tests.scoring import plain
from tests.scoring.drawn import UNHURRIED
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Nodes, Offer
from tradewind.config.document import parse

_DOCUMENT = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
rules: {limits: {overcommit: {memory: 1.5}}}
"""
_POLICY = parse(_DOCUMENT).policies().default
_NODE_NAMES = ("a", "b", "c", "d")

_DURABLE = Offer(0.192, 0.192, 0.01, durable=True)
_OFFERS = st.sampled_from(
    [
        _DURABLE,
        _DURABLE._replace(price=0.01),
        Offer(0.05, 0.1, 0.2, durable=False),
        Offer(0.3, 0.1, 0.4, durable=False),
        Offer(np.nan, np.nan, 0.1, durable=False),
        Offer(0.0, 0.1, 0.0, durable=True),
    ]
)
_ASKING = (
    pod("plain").requests(cpu="300m", memory="1Gi"),
    pod("empty"),
    pod("large").requests(cpu="3", memory="12Gi").priority(1000),
    pod("memory").requests(memory="3Gi").limits(memory="4Gi").priority(-1),
    pod("peak").requests(cpu="1").limits(memory="10Gi"),
    pod("gpu").requests({"example.com/gpu": "1"}, cpu="1"),
    pod("disk").requests(cpu="300m", memory="1Gi").annotation("tradewind.dev/disk-type", "ssd,nvme"),
    pod("network").requests(cpu="1").annotation("tradewind.dev/network-type", "fast"),
)


@st.composite
def _nodes(draw: st.DrawFn) -> NodeBuilder:
    drawn = node(draw(st.sampled_from(_NODE_NAMES))).cpu(draw(st.sampled_from(["0", "1", "3", "4"])))
    drawn = drawn.memory(draw(st.sampled_from(["0", "2Gi", "16Gi"]))).pods(draw(st.sampled_from([1, 3])))
    for label in draw(st.sets(st.sampled_from(["disktype", "node.kubernetes.io/disk-type", "networktype"]))):
        drawn = drawn.label(label, draw(st.sampled_from(["ssd", "hdd", "fast"])))
    return drawn.resource("example.com/gpu", draw(st.sampled_from([0, 2])))


class World:
    """A cache, and beside it what it was told."""

    def __init__(self) -> None:
        self.offers: dict[str, Offer] = {}
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.troubles: dict[str, float] = {}
        self.cache = Cache(lambda each: self.offers[each.name])

    def put_node(self, built: Node, offer: Offer) -> None:
        if self.nodes.get(built.name) != built:  # one that is as it was keeps its offer
            self.offers[built.name] = offer
            self.nodes[built.name] = built
        self.cache.apply_node(built)

    def drop_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.cache.remove_node(name)

    def offer(self, name: str, offer: Offer) -> None:
        known = next((n for n in self.cache.snapshot().nodes.cluster.table.nodes if n.name == name), None)
        if known is not None:
            self.offers[name] = offer
            self.cache.update_offers([known], np.array([offer], np.float64).T)

    def put_pod(self, built: Pod) -> None:
        self.pods[built.uid] = built
        self.cache.apply_pod(built)

    def drop_pod(self, uid: str) -> None:
        self.pods.pop(uid, None)
        self.cache.remove_pod(uid)

    def trouble(self, shares: dict[str, float]) -> None:
        self.troubles = shares
        self.cache.follow_troubles(shares)

    def places(self, nodes: Nodes) -> list[plain.Place]:
        return [
            plain.Place(
                self.nodes[name],
                self.offers[name],
                [each for each in self.pods.values() if each.node_name == name],
                list(self.nodes.values()),
                self.troubles.get(name, 0.0),
            )
            for name in nodes.names
        ]


_uids = st.sampled_from(["u1", "u2", "u3"])
_names = st.sampled_from(_NODE_NAMES)
_placed = st.builds(
    lambda asking, uid, name: asking.uid(uid).on(name).build(), st.sampled_from(_ASKING), _uids, _names
)
_changes: st.SearchStrategy[Callable[[World], None]] = st.one_of(
    st.builds(lambda built, offer: lambda world: world.put_node(built.build(), offer), _nodes(), _OFFERS),
    st.builds(lambda name, offer: lambda world: world.offer(name, offer), _names, _OFFERS),
    st.builds(lambda built: lambda world: world.put_pod(built), _placed),
    st.builds(lambda built: lambda world: world.put_pod(built), _placed),
    st.builds(lambda uid: lambda world: world.drop_pod(uid), _uids),
    st.builds(lambda name: lambda world: world.drop_node(name), _names),
    st.builds(
        lambda shares: lambda world: world.trouble(shares),
        st.dictionaries(_names, st.sampled_from([0.1, 0.5, 1.0])),
    ),
)


@given(
    nodes=st.lists(st.tuples(_nodes(), _OFFERS), min_size=1, max_size=4),
    changes=st.lists(_changes, min_size=1, max_size=12),
    order=st.randoms(use_true_random=False),
)
@settings(UNHURRIED, max_examples=150)
def test_after_any_changes_the_answers_are_those_of_plain_python(
    nodes: list[tuple[NodeBuilder, Offer]],
    changes: list[Callable[[World], None]],
    order: Random,
) -> None:
    world = World()
    for built, offer in nodes:
        world.put_node(built.build(), offer)
    asking = [each.build() for each in _ASKING]
    for change in changes:
        change(world)
        everybody = world.cache.snapshot().nodes
        rows = [row for row in range(len(everybody)) if order.random() < 0.7]
        some = everybody.take(np.array(rows, np.intp))
        for wanted in order.sample(asking, 3):
            for candidates in (everybody, some):
                _check(wanted, candidates, world)


def _check(wanted: Pod, candidates: Nodes, world: World) -> None:
    places = world.places(candidates)
    for scorer, _ in _POLICY.scorers:
        found = scorer.score(wanted, candidates)
        expected = plain.SCORERS[scorer.name](wanted, places)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12, err_msg=scorer.name)
    expected_masks = {name: [rule(wanted, place) for place in places] for name, rule in plain.FILTERS.items()}
    for rule in _POLICY.filters:
        if rule.name in expected_masks:
            assert rule.feasible(wanted, candidates).tolist() == expected_masks[rule.name], rule.name
    passed = [all(column) for column in zip(*expected_masks.values(), strict=True)]
    verdict = _POLICY.filter(wanted, candidates)
    assert verdict.feasible.tolist() == passed
    rejected = {row: each.rule.name for each in verdict.rejections for row in each.rows.tolist()}
    first = {
        row: next(name for name, mask in expected_masks.items() if not mask[row])
        for row, ok in enumerate(passed)
        if not ok
    }
    assert rejected == first
