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
