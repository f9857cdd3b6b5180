import numpy as np
import pytest

from scoring.scorers.stability import Stability
from tests.builders import NodeBuilder, cluster_of, node, pod

_RATE, _MEDIAN = "tradewind.dev/interruption-rate", "tradewind.dev/median-price"


@pytest.mark.parametrize(
    ("built", "score"),
    [
        pytest.param(node("n"), 1.0, id="a durable node"),
        pytest.param(
            node("n").label("karpenter.sh/capacity-type", "spot"), 0.95, id="a spot node of no known rate"
        ),
        pytest.param(node("n").annotation(_RATE, "0.2"), 0.8, id="no price: the rate alone"),
        # 0.2 x 0.3 / 0.1 = 0.6
        pytest.param(
            node("n").annotation(_RATE, "0.2").price(0.3).annotation(_MEDIAN, "0.1"), 0.4, id="dear now"
        ),
        # 0.2 x 0.05 / 0.1 = 0.1
        pytest.param(
            node("n").annotation(_RATE, "0.2").price(0.05).annotation(_MEDIAN, "0.1"), 0.9, id="cheap now"
        ),
        pytest.param(
            node("n").annotation(_RATE, "0.9").price(1).annotation(_MEDIAN, "0.1"), 0.0, id="at most all"
        ),
        pytest.param(node("n").annotation(_RATE, "0.2").price(0), 0.8, id="a free node"),
    ],
)
def test_stability(built: NodeBuilder, score: float) -> None:
    nodes = cluster_of([built]).nodes
    assert Stability().score(pod("w").build(), nodes).tolist() == pytest.approx([score])


def test_penalties_above_1_keep_their_order() -> None:
    # 0.9 x 1/0.1 = 9, 0.5 x 0.6/0.1 = 3, 0.2: divided by the largest
    worst = node("n").annotation(_RATE, "0.9").price(1).annotation(_MEDIAN, "0.1")
    bad = node("m").annotation(_RATE, "0.5").price(0.6).annotation(_MEDIAN, "0.1")
    nodes = cluster_of([worst, bad, node("o").annotation(_RATE, "0.2").price(1)]).nodes
    assert Stability().score(pod("w").build(), nodes).tolist() == pytest.approx([0, 2 / 3, 1 - 0.2 / 9])


def rated(name: str, rate: str, *, spot: bool = True, price: float | None = None) -> NodeBuilder:
    built = node(name).annotation(_RATE, rate)
    built = built.label("karpenter.sh/capacity-type", "spot" if spot else "on-demand")
    return built if price is None else built.price(price)


@pytest.mark.parametrize(
    ("built", "scores"),
    [
        pytest.param(
            [rated("d", "0", spot=False), rated("s", "0.2"), rated("t", "0.4")],
            [0.8, 0.8, 0.6],
            id="no prices: no better than the best spot node",
        ),
        pytest.param(
            [rated("d", "0", spot=False, price=1), rated("s", "0.2", price=0.3)],
            [1, 0.8],
            id="prices on both terms: price can outweigh it",
        ),
        pytest.param(
            [rated("d", "0", spot=False, price=1), rated("s", "0.2")], [0.8, 0.8], id="no spot price"
        ),
        pytest.param(
            [rated("d", "0", spot=False), rated("e", "0", spot=False, price=1), rated("s", "0.2", price=0.3)],
            [0.8, 1, 0.8],
            id="one on-demand node without a price",
        ),
        pytest.param(
            [rated("d", "0", spot=False), rated("e", "0.1", spot=False)], [1, 0.9], id="no spot nodes at all"
        ),
    ],
)
def test_without_prices_it_does_not_push_to_dearer_terms(
    built: list[NodeBuilder], scores: list[float]
) -> None:
    nodes = cluster_of(built).nodes
    assert Stability().score(pod("w").build(), nodes).tolist() == pytest.approx(scores)


def test_only_candidates_count_for_the_best_spot_node() -> None:
    nodes = cluster_of([rated("d", "0", spot=False), rated("calm", "0"), rated("risky", "0.3")]).nodes
    candidates = nodes.take(np.array([0, 2]))
    assert Stability().score(pod("w").build(), candidates).tolist() == pytest.approx([0.7, 0.7])
