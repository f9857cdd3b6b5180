"""Another process knows the same cluster, however it came to be."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NodeBuilder, node, pod
from tests.planner.cases import filled, policy_of
from tradewind.cluster.cache import Cache
from tradewind.cluster.snapshot import Offer
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.standing.changes import Changes, Listener, Told


class _Pair:
    """Two sides, and the wire between them."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.told, self.listener = Told(), Listener()
        self.newest: Changes | None = None

    def tell(self) -> None:
        self.newest = self.told.changes(*self.cache.state(), policy_of)
        snapshot, pods, *_ = self.listener.hear(pickle.loads(pickle.dumps(self.newest)))  # noqa: S301
        here, theirs = self.cache.snapshot().nodes, snapshot.nodes
        assert sorted(pods, key=str) == sorted(self.cache.all_pods(), key=str)
        assert set(here.names) == set(theirs.names)
        rows = here.cluster.table.rows_of_all(theirs.names)
        assert [here.cluster.table.nodes[row] for row in rows] == list(theirs.cluster.table.nodes)
        for field in Offer._fields:
            ours = getattr(here.columns.supply, field)[rows]
            assert np.array_equal(ours, getattr(theirs.columns.supply, field), equal_nan=ours.dtype != bool)
        for resource in ("cpu", "memory", "pods"):
            ours_free, theirs_free = here.free_of(resource), theirs.free_of(resource)
            assert ours_free is not None
            assert theirs_free is not None
            assert np.array_equal(ours_free[rows], theirs_free)


def _node(name: str, price: float) -> NodeBuilder:
    return node(name).cpu("8").price(price)


def test_only_what_changed_is_told() -> None:
    pair = _Pair(filled([_node("a", 1), _node("b", 2)], [pod("p").on("a"), pod("q")]))
    pair.tell()
    assert pair.newest is not None
    assert (len(pair.newest.nodes), len(pair.newest.pods)) == (2, 2)
    assert pair.newest.policy_of is not None
    pair.tell()
    assert pair.newest[1:] == ([], {}, [], [], [], None, {})


def _pool(name: str, price: float | None, max_nodes: int = 3) -> PoolTemplate:
    return PoolTemplate(name=name, resources={"cpu": 4}, price=price, max_nodes=max_nodes)


def test_pools_are_nodes_that_are_told_of_once() -> None:
    cache = filled([_node("a", 1)], [])
    told, listener = Told(), Listener()
    for templates, new, gone, pools in (
        ([_pool("x", 0.5), _pool("unpriced", None)], {"x/0": 0.5}, [], {"x/0": 3}),
        ([_pool("x", 0.5)], {}, [], {"x/0": 3}),
        ([_pool("x", 0.7)], {"x/0": 0.7}, [], {"x/0": 3}),
        ([_pool("y", 0.1, 8)], {"y/0": 0.1}, ["x/0"], {"y/0": 8}),
        ([], {}, ["y/0"], {}),
    ):
        found = told.changes(*cache.state(), policy_of, templates)
        assert {name: offer.price for name, offer in found.offers.items() if name != "a"} == new
        assert (found.gone_nodes, found.pools) == (gone, pools)
        snapshot, _, _, heard = listener.hear(found)
        assert (set(snapshot.nodes.names), heard) == ({"a", *pools}, pools)
        assert np.isfinite(snapshot.nodes.price).all()


def test_without_any_price_of_a_node_a_pool_says_nothing() -> None:
    found = Told().changes(*filled([node("a")], []).state(), policy_of, [_pool("x", 0.5)])
    assert ([each.name for each in found.nodes], found.pools) == (["a"], {})


def test_a_price_without_a_change_of_the_node_is_told() -> None:
    pair = _Pair(filled([_node("a", 1), _node("b", 2)], []))
    pair.tell()
    nodes = pair.cache.snapshot().nodes.cluster.table.nodes
    offers = np.array([[5.0, 6.0], [5.0, 6.0], [0.5, 0.0], [0.0, 1.0], [0.0, 0.0]])
    pair.cache.update_offers(nodes, offers)
    pair.tell()
    assert pair.newest is not None
    assert (pair.newest.nodes, len(pair.newest.offers)) == ([], 2)


def test_changes_that_were_lost_are_noticed() -> None:
    told, listener = Told(), Listener()
    cache = filled([_node("a", 1)], [])
    told.changes(*cache.state(), policy_of)
    with pytest.raises(LookupError, match="told of changes 1, 0 were to come"):
        listener.hear(told.changes(*cache.state(), policy_of))


_NAMES = st.sampled_from("abc")
_STEPS = st.one_of(
    st.tuples(st.just("node"), _NAMES, st.sampled_from([1.0, 2.0])),
    st.tuples(st.just("no node"), _NAMES, st.none()),
    st.tuples(st.just("pod"), _NAMES, st.sampled_from(["", "a", "b"])),
    st.tuples(st.just("no pod"), _NAMES, st.none()),
    st.tuples(st.just("tell"), _NAMES, st.none()),
)


@given(st.lists(_STEPS, max_size=20))
def test_both_sides_agree_after_any_changes(steps: list[tuple[str, str, object]]) -> None:
    pair = _Pair(filled([], []))
    for what, name, how in steps:
        match what:
            case "node":
                pair.cache.apply_node(_node(name, float(str(how))).build())
            case "no node":
                pair.cache.remove_node(name)
            case "pod":
                made = pod(f"p{name}").requests(cpu="1")
                pair.cache.apply_pod((made.on(str(how)) if how else made).build())
            case "no pod":
                pair.cache.remove_pod(f"default/p{name}")
            case _:
                pair.tell()
    pair.tell()
