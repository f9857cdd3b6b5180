import pytest

from tests.builders import node
from tradewind.cluster.cache import Cache
from tradewind.market.learned import Learner, decode, encode
from tradewind.market.market import Market
from tradewind.market.pools import Pool, pool_of
from tradewind.market.price_history import PriceHistory
from tradewind.market.quotes import Origin

_HOUR = 3600.0
_POOL = Pool("m5.large", "a", "spot")


def _seen(*prices: float, half_life_hours: float = 1e9) -> Learner:
    """Each price for one hour."""
    learner = Learner(half_life_hours)
    for hour, price in enumerate([*prices, prices[-1]]):
        learner.observe(hour * _HOUR, {}, [(_POOL, price)])
    return learner


@pytest.mark.parametrize(
    ("prices", "median"),
    [
        pytest.param([0.1] * 23, None, id="not seen for a day"),
        pytest.param([0.1] * 25, 0.1, id="more than a day"),
        pytest.param([0.1] * 14 + [0.5] * 11, 0.1, id="cheap for longer"),
        pytest.param([0.1] * 11 + [0.5] * 14, 0.5, id="dear for longer"),
    ],
)
def test_the_median_is_of_the_hours(prices: list[float], median: float | None) -> None:
    assert _seen(*prices).prices.medians().get(_POOL) == median


def test_half_is_forgotten_in_each_half_life() -> None:
    """After 48 hours at 0.1, 24 at 0.5: with a half-life of 12 hours the first count for little."""
    prices = [0.1] * 48 + [0.5] * 24
    assert _seen(*prices).prices.medians() == {_POOL: 0.1}
    faded = _seen(*prices, half_life_hours=12).prices.hours[_POOL]
    assert faded[0.5] > 3 * faded[0.1]


def test_nodes_of_one_pool_that_differ_count_by_their_median() -> None:
    history = PriceHistory()
    history.look([(_POOL, 0.1), (_POOL, 0.1), (_POOL, 0.3)])
    history.pass_time(1.0, 30.0)
    assert history.medians() == {_POOL: 0.1}


def test_nobody_knows_the_price_in_a_long_gap() -> None:
    learner = _seen(0.1)
    learner.observe(1000 * _HOUR, {}, [(_POOL, 0.1)])
    assert learner.prices.hours[_POOL] == pytest.approx({0.1: 2.0})


def test_it_is_kept_over_a_restart_and_the_longer_memory_wins() -> None:
    kept = decode(encode(_seen(*[0.1] * 30).state(), 10_000))
    assert kept.medians() == {_POOL: 0.1}
    resumed, younger = Learner(1e9), _seen(0.5)
    resumed.restore(kept)
    assert resumed.prices.medians() == {_POOL: 0.1}
    younger.merge(kept)
    assert younger.prices.medians() == {_POOL: 0.1}


def test_a_memory_with_impossible_prices_is_refused() -> None:
    broken = encode(_seen(0.1).state(), 10_000).replace("[0.1,", "[-0.1,")
    with pytest.raises(ValueError, match="negative"):
        decode(broken)


def test_the_rarest_prices_are_forgotten() -> None:
    learner = _seen(*[0.1] * 5, *(1 + number / 100 for number in range(60)))
    assert len(learner.prices.hours[_POOL]) == 32
    assert 0.1 in learner.prices.hours[_POOL]


def test_a_node_without_a_median_gets_the_one_that_was_seen() -> None:
    label = "node.kubernetes.io/instance-type"
    plain = node("plain").label(label, "m5.large").price(0.2).build()
    told = node("told").label(label, "m5.large").price(0.2)
    told_node = told.annotation("tradewind.dev/median-price", "0.15").build()
    unpriced = node("unpriced").label(label, "m5.large").build()
    market = Market()
    market.learn({}, {pool_of(plain): 0.1})
    cache = Cache(market.offer_of)
    for each in (plain, told_node, unpriced):
        cache.apply_node(each)
    cache.update_offers([plain, told_node, unpriced], market.offers([plain, told_node, unpriced]))
    nodes = cache.snapshot().nodes
    # The one without a price is estimated from its type, and has no history of its own.
    assert nodes.median_price.tolist() == pytest.approx([0.1, 0.15, 0.2])
    assert market.origins("plain").median_price is Origin.LEARNED
    assert market.origins("told").median_price is Origin.NODE
    assert list(market.known_prices(nodes)) == [(pool_of(plain), 0.2), (pool_of(plain), 0.2)]
