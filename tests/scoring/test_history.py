import numpy as np
import pytest

from scoring.scorers.history import History
from tests.builders import node, offer_of, pod
from tradewind.cluster.cache import Cache


def _cache(shares: dict[str, float]) -> Cache:
    cache = Cache(offer_of)
    for name in ("a", "b", "c"):
        cache.apply_node(node(name).build())
    cache.follow_troubles(shares)
    return cache


@pytest.mark.parametrize(
    ("shares", "scores"),
    [
        pytest.param({}, [1, 1, 1], id="nobody has seen anything"),
        pytest.param({"b": 0.25}, [1, 0.8, 1], id="1 / 1.25, and 1 for those not seen"),
        pytest.param({"a": 1.0, "c": 0.5}, [0.5, 1, 2 / 3], id="at worst a half"),
        pytest.param({"gone": 1.0}, [1, 1, 1], id="a node that is not there"),
    ],
)
def test_history(shares: dict[str, float], scores: list[float]) -> None:
    nodes = _cache(shares).snapshot().nodes
    assert History().score(pod("w").build(), nodes).tolist() == pytest.approx(scores)


def test_some_candidates() -> None:
    nodes = _cache({"b": 0.25}).snapshot().nodes.take(np.array([1, 0]))
    assert History().score(pod("w").build(), nodes).tolist() == pytest.approx([0.8, 1])


def test_a_snapshot_keeps_what_it_said_and_only_news_makes_another() -> None:
    cache = _cache({"b": 0.25})
    before, work = cache.snapshot(), cache.work()
    cache.follow_troubles({"b": 0.25})
    assert cache.snapshot() is before
    cache.follow_troubles({"b": 1.0})
    assert History().score(pod("w").build(), before.nodes).tolist() == pytest.approx([1, 0.8, 1])
    assert History().score(pod("w").build(), cache.snapshot().nodes).tolist() == pytest.approx([1, 0.5, 1])
    assert cache.work() == work  # nobody waits for that
