import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorers.price import Price, pod_cost
from tests.builders import NodeBuilder, cluster_of, node, pod

_WANTED = pod("w").requests(cpu="1", memory="2Gi").build()


def test_cheaper_node_wins() -> None:
    nodes = cluster_of([node("cheap").price(0.1), node("mid").price(0.2), node("dear").price(0.6)]).nodes
    # The same share of each, so costs are as 1 : 2 : 6 and the median is 2: 2/3, 2/4, 2/8
    assert Price().score(_WANTED, nodes).tolist() == pytest.approx([2 / 3, 0.5, 0.25])


def test_what_the_pod_costs_decides_not_the_nodes_price() -> None:
    small, large = (
        node("small").cpu("2").memory("8Gi").price(0.1),
        node("large").cpu("32").memory("128Gi").price(1),
    )
    nodes = cluster_of([small, large]).nodes
    # small: half of its cpu, 0.05 $/h; large: a thirty-second, 0.03125 $/h
    assert pod_cost(_WANTED, nodes).tolist() == pytest.approx([0.05, 0.03125])
    scores = Price().score(_WANTED, nodes)
    assert scores[1] > scores[0]


def test_the_dominant_share_counts() -> None:
    nodes = cluster_of([node("n").cpu("4").memory("16Gi").price(1)]).nodes
    # cpu 0.4/4 = 0.1, memory 8/16 = 0.5
    assert pod_cost(pod("w").requests(cpu="400m", memory="8Gi").build(), nodes).tolist() == [0.5]


def test_a_pod_without_requests_costs_a_pod_place() -> None:
    nodes = cluster_of([node("n").pods(50).price(1)]).nodes
    assert pod_cost(pod("w").build(), nodes).tolist() == [0.02]


def test_unknown_price_counts_as_the_median() -> None:
    nodes = cluster_of(
        [node("a").price(0.1), node("b").price(0.3), node("c").price(0.2), node("unknown")]
    ).nodes
    scores = Price().score(_WANTED, nodes)
    assert scores[3] == scores[2] == 0.5


def test_no_price_known_means_no_opinion() -> None:
    scores = Price().score(_WANTED, cluster_of([node("a"), node("b")]).nodes)
    assert scores[0] == scores[1]


def test_a_free_node_is_best_and_free_nodes_are_equal() -> None:
    nodes = cluster_of([node("free").price(0), node("gratis").price(0), node("dear").price(1)]).nodes
    assert Price().score(_WANTED, nodes).tolist() == [1, 1, 0]


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=8), st.integers(-9, 9))
def test_scaling_all_prices_changes_nothing(prices: list[float], power: int) -> None:
    def scores(factor: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        nodes = cluster_of(node(f"n{i}").price(price * factor) for i, price in enumerate(prices)).nodes
        return Price().score(_WANTED, nodes)

    np.testing.assert_array_equal(scores(1), scores(2.0**power))


@given(st.lists(st.floats(0.001, 100), min_size=2, max_size=8))
def test_a_cheaper_twin_never_ranks_lower(prices: list[float]) -> None:
    scores = Price().score(_WANTED, cluster_of(node(f"n{i}").price(p) for i, p in enumerate(prices)).nodes)
    for i, price in enumerate(prices):
        for j, other in enumerate(prices):
            assert price >= other or scores[i] >= scores[j]


def _was(name: str, price: float, median: float) -> NodeBuilder:
    return node(name).price(price).annotation("tradewind.dev/median-price", str(median))


def test_a_price_is_expected_to_go_a_quarter_of_the_way_back_to_its_median() -> None:
    # risen: (3 x 0.2 + 0.1)/4 = 0.175; fallen: (3 x 0.05 + 0.1)/4 = 0.0625; steady: 0.15, the median.
    nodes = cluster_of([_was("risen", 0.2, 0.1), _was("fallen", 0.05, 0.1), node("steady").price(0.15)]).nodes
    assert Price().score(_WANTED, nodes).tolist() == pytest.approx([150 / 325, 1500 / 2125, 1 / 2])
    # By the price of now alone the median is 0.15, by the median alone it is 0.1.
    assert Price(history=0).score(_WANTED, nodes).tolist() == pytest.approx([15 / 35, 15 / 20, 1 / 2])
    assert Price(history=1).score(_WANTED, nodes).tolist() == pytest.approx([1 / 2, 1 / 2, 10 / 25])


def test_a_part_of_history_beyond_all_of_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"history: 1\.5 is not within 0 and 1"):
        Price(history=1.5)


@pytest.mark.parametrize(
    ("built", "scores"),
    [
        # 1 - 0.1/0.2 = 1/2; 1 - 0.1/0.05 = -1; at its median 0: scaled from -1..1/2
        pytest.param(
            [_was("risen", 0.2, 0.1), _was("fallen", 0.05, 0.1), node("steady").price(0.01), node("unknown")],
            [1, 0, 2 / 3, 2 / 3],
            id="favours what has become dearer",
        ),
        # 1 - 1/0.5 = -1, 1 - 1/0.1 = -9, 0
        pytest.param(
            [_was("half", 0.5, 1), _was("tenth", 0.1, 1), _was("steady", 1, 1)],
            [8 / 9, 0, 1],
            id="keeps the order below 0",
        ),
        pytest.param([_was("one", 1, 1), _was("other", 2, 2)], [0.5, 0.5], id="all at their median"),
    ],
)
def test_the_literal_formula(built: list[NodeBuilder], scores: list[float]) -> None:
    nodes = cluster_of(built).nodes
    assert Price(formula="literal").score(_WANTED, nodes).tolist() == pytest.approx(scores)
