from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from tests.builders import node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.memoised import Memoised
from tradewind.cluster.snapshot import Nodes, Supply


@dataclass(frozen=True, eq=False)
class Source(Memoised):
    number: int


def _product(source: Source, factor: int) -> list[int]:
    return [source.number * factor]


def test_what_is_made_of_a_source_is_made_once_for_all_who_ask_alike() -> None:
    source = Source(3)
    assert source.derived(_product, 2) is source.derived(_product, 2)
    assert (source.derived(_product, 2), source.derived(_product, 5)) == ([6], [15])


def test_a_changed_source_keeps_nothing_of_the_old_one() -> None:
    source = Source(3)
    assert source.derived(_product, 2) == [6]
    assert replace(source, number=4).derived(_product, 2) == [8]


def test_no_more_is_kept_than_there_is_room_for() -> None:
    source = Source(3)
    for factor in range(3 * Source.max_kept):
        assert source.derived(_product, factor) == [3 * factor]
        assert len(source._derived) <= Source.max_kept


def test_many_threads_may_ask_at_once() -> None:
    source = Source(3)
    factors = [number % (2 * Source.max_kept) for number in range(20_000)]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda factor: source.derived(_product, factor), factors, chunksize=100)
        assert list(answers) == [[3 * factor] for factor in factors]


def test_pods_leave_the_supply_as_it_is_and_nodes_and_offers_make_a_new_one() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").price(1).build())

    def supply() -> Supply:
        return cache.snapshot().nodes.columns.supply

    first = supply()
    cache.apply_pod(pod("x").requests(cpu=1).on("a").build())
    assert supply() is first
    cache.update_offers(
        cache.snapshot().nodes.cluster.table.nodes, np.array([[2.0], [2.0], [0.5], [1.0], [0.0]])
    )
    second = supply()
    assert second is not first
    cache.apply_node(node("b").build())
    assert supply() is not second
    third = supply()
    cache.apply_pod(pod("y").limits(cpu=1).on("a").build())
    assert supply() is not third  # has one resource more


def _ten_prices(supply: Supply) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return supply.price * 10


def test_what_is_made_of_the_supply_is_cut_for_the_nodes_that_are_asked_for() -> None:
    cache = Cache(offer_of)
    for name, price in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        cache.apply_node(node(name).price(price).build())
    nodes: Nodes = cache.snapshot().nodes
    assert nodes.of_supply(_ten_prices).tolist() == [10, 20, 30]
    assert nodes.take(np.array([2, 0])).of_supply(_ten_prices).tolist() == [30, 10]
