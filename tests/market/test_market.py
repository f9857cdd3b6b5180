import logging
import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorers.price import Price
from scoring.scorers.stability import Stability
from tests.builders import NodeBuilder, cluster_of, node, pod
from tradewind.cluster.objects import Node
from tradewind.cluster.snapshot import Offer
from tradewind.market.estimates import Estimates
from tradewind.market.kinds import Kind
from tradewind.market.learned import Evidence
from tradewind.market.market import Market
from tradewind.market.pools import Pool, Shape, pool_of
from tradewind.market.quotes import Origin, Origins, Quote
from tradewind.market.rows import csv_rows
from tradewind.market.settings import MarketSettings
from tradewind.market.table import PriceTable

_TABLE = PriceTable(
    csv_rows(
        "instance_type,capacity_type,price,median_price,interruption_rate\n"
        "m5.large,spot,0.04,0.035,0.15\nm5.large,on-demand,0.1,,\n"
    )
)


kinds = st.builds(
    Kind,
    st.sampled_from(["", "x", "y"]),
    st.sampled_from(["spot", "on-demand"]),
    st.builds(Shape, st.sampled_from([2000, 4000]), st.just(0), st.just(())),
    st.just("linux"),
    st.none(),
)


def typed(name: str, instance_type: str = "m5.large", *, spot: bool = True) -> NodeBuilder:
    built = node(name).label("node.kubernetes.io/instance-type", instance_type)
    return built.label("karpenter.sh/capacity-type", "spot" if spot else "on-demand")


def terms(market: Market, built: NodeBuilder) -> tuple[Offer, Origins]:
    offer = market.offer_of(built.build())
    return offer, market.origins(built.build().name)


def test_the_order_of_trust() -> None:
    market = Market(table=_TABLE)
    market.quote({"price": {"a": 0.05, "b": 0.6}, "interruption_rate": {"b": 0.3}})
    annotated = typed("a").price(0.02)
    assert terms(market, annotated) == (
        Offer(0.02, 0.035, 0.15, durable=False),
        Origins(Origin.NODE, Origin.TABLE, Origin.TABLE),
    )
    assert terms(market, typed("a")) == (
        Offer(0.04, 0.035, 0.15, durable=False),
        Origins(Origin.TABLE, Origin.TABLE, Origin.TABLE),
    )
    assert terms(market, typed("b", "other")) == (
        Offer(0.6, 0.6, 0.3, durable=False),
        Origins(Origin.PROMETHEUS, Origin.PROMETHEUS, Origin.PROMETHEUS),
    )


def test_one_node_gets_what_it_gets_among_all() -> None:
    """Whatever changed since another node of the same kind got its offer."""
    market = Market(table=_TABLE)
    nodes = [
        *(typed(name).build() for name in "ab"),
        *(typed(name, "other").build() for name in "cd"),
        typed("e").price(0.3).build(),
        typed("f", "other").taint("karpenter.sh/disrupted").build(),
        typed("g", spot=False).label("team", "shop").build(),
    ]
    discounts = MarketSettings(discounts=({"selector": "team=shop", "factor": 0.5},))  # type: ignore[arg-type]
    changes = [
        lambda: market.quote({"price": {"c": 0.5}}),
        lambda: market.quote({"price": {"c": 0.9}, "interruption_rate": {"a": 0.3, "d": 0.4}}),
        lambda: market.learn({pool_of(nodes[0]): Evidence(5, 100)}),
        lambda: market.learn({pool_of(nodes[0]): Evidence(0.1, 900)}),
        lambda: market.configure(discounts, _TABLE),
        lambda: market.configure(discounts, PriceTable()),
        market.forget_quotes,
    ]
    for change in changes:
        change()
        together = [tuple(column) for column in market.offers(nodes).T]
        for each, expected in zip(nodes, together, strict=True):
            assert tuple(market.offer_of(each)) == pytest.approx(expected, nan_ok=True)


def test_a_label_tells_as_well_as_an_annotation() -> None:
    assert terms(Market(), node("a").label("tradewind.dev/price", "0.3"))[0].price == 0.3


@pytest.mark.parametrize(
    ("similar", "expected"),
    [
        pytest.param(
            [typed("a", "x").price(1), typed("b", "x").price(3), typed("c", "y").price(9)],
            2,
            id="of its type",
        ),
        pytest.param(
            [typed("a", "x", spot=False).price(50), typed("c", "y").cpu(4).price(9)], 9, id="of its shape"
        ),
        pytest.param(
            [typed("a", "x", spot=False).price(5), typed("c", "y").cpu(4).price(9)],
            5,
            id="of its shape, but no dearer than its type on demand",
        ),
        pytest.param(
            [typed("a", "x", spot=False).price(5), typed("c", "y").cpu(16).price(9)],
            5 * 0.34,
            id="of its type on other terms, at the usual ratio",
        ),
        pytest.param(
            [
                *(typed("a", "x", spot=False).price(5), typed("b", "y").cpu(16).price(2)),
                typed("c", "y", spot=False).cpu(16).price(8),
            ],
            5 * 2 / 8,
            id="at the ratio that a type has that is known on both",
        ),
        pytest.param([typed("a", "x").price(0), typed("b", "x").price(3)], 3, id="not of a free peer"),
        pytest.param([typed("a", "x").price(0)], math.nan, id="free peers only"),
        pytest.param(
            [typed("a", "y").cpu(8).price(2), typed("b", "z").cpu(2).price(0.5)], 1, id="by the core"
        ),
        pytest.param([], math.nan, id="nothing to go by"),
    ],
)
def test_unknown_prices_are_estimated(similar: list[NodeBuilder], expected: float) -> None:
    market = Market()
    unknown = typed("unknown", "x").cpu(4)
    offers = market.offers([built.build() for built in (*similar, unknown)])
    assert offers[:, -1].tolist() == pytest.approx([expected, expected, 0.05, 0.0, 0.0], nan_ok=True)
    known = Origin.UNKNOWN if math.isnan(expected) else Origin.ESTIMATED
    assert market.origins("unknown") == Origins(known, known, Origin.ESTIMATED)


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        pytest.param("x,spot,1.7\n", 5, id="1.7 / 0.34, through the usual ratio"),
        pytest.param("x,spot,1.7\ny,on-demand,0.5\n", 1.7, id="a peer's 0.5, but no cheaper than its spot"),
    ],
)
def test_an_on_demand_node_is_never_estimated_at_a_spot_price(listed: str, expected: float) -> None:
    """The spot price is in the table alone: no spot node of the type is there."""
    market = Market(table=PriceTable(csv_rows("instance_type,capacity_type,price\n" + listed)))
    nodes = [typed("unknown", "x", spot=False), typed("peer", "y", spot=False)]
    assert market.offers([built.build() for built in nodes])[0, 0] == pytest.approx(expected)
    assert market.origins("unknown").price is Origin.ESTIMATED


@given(st.lists(st.tuples(kinds, st.floats(0, 100)), max_size=12), kinds)
def test_estimates_keep_spot_below_on_demand(known: list[tuple[Kind, float]], kind: Kind) -> None:
    estimates = Estimates((each, np.array([price])) for each, price in known if price > 0)
    spot, on_demand = kind._replace(capacity_type="spot"), kind._replace(capacity_type="on-demand")
    priced = {each for each, price in known if price > 0}
    low, high = estimates.price(spot), estimates.price(on_demand)
    assert math.isnan(low) == math.isnan(high) == (not priced)
    if kind.instance_type and spot in priced and on_demand not in priced:
        assert high >= low
    if kind.instance_type and on_demand in priced and spot not in priced:
        assert low <= high


def test_a_durable_node_is_not_taken_for_safe() -> None:
    assert 0 < terms(Market(), node("a"))[0].interruption_rate < 0.01


def test_discounts_apply_to_the_table_by_selector() -> None:
    settings = MarketSettings.model_validate(
        {
            "discounts": [
                {"selector": "team=a", "factor": 0.5},
                {"selector": "karpenter.sh/capacity-type=on-demand", "factor": 0.8},
            ]
        }
    )
    market = Market(settings, _TABLE)
    assert terms(market, typed("a", spot=False).label("team", "a"))[0].price == pytest.approx(0.04)
    assert terms(market, typed("b", spot=False))[0].price == pytest.approx(0.08)
    assert terms(market, typed("c", spot=False).price(0.2))[0].price == 0.2


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "1000000", "cheap", "1e-320", "9e-7"])
def test_an_absurd_annotation_is_refused_and_the_previous_one_stays(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    market = Market()
    assert terms(market, node("odd").price(0.5))[0].price == 0.5
    with caplog.at_level(logging.WARNING):
        offer, origins = terms(market, node("odd").annotation("tradewind.dev/price", text))
    assert offer.price == 0.5
    assert origins.price is Origin.NODE
    assert market.refusals.counts == {"node": 1}
    assert f'node: tradewind.dev/price "{text}" of node odd' in caplog.text


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf, 1e6, 0.0, 1e-320])
def test_an_absurd_sample_is_refused_and_the_previous_one_stays(
    price: float, caplog: pytest.LogCaptureFixture
) -> None:
    market = Market()
    market.offer_of(node("a").build())
    market.quote({"price": {"a": 0.5}, "interruption_rate": {"a": 0.2}})
    market.quote({"price": {"a": price}, "interruption_rate": {"a": 7.0}})
    offer, _ = terms(market, node("a"))
    assert (offer.price, offer.interruption_rate) == (0.5, 0.2)
    assert market.refusals.counts == {"prometheus": 2}
    assert f'prometheus: price "{price:g}" of node a' in caplog.text


def test_a_tiny_median_price_spoils_no_score() -> None:
    """0.2 / 1e-320 is infinite, and a largest penalty of infinity makes every score NaN or 1."""
    odd = node("odd").price(0.2).annotation("tradewind.dev/median-price", "1e-320")
    nodes = cluster_of([odd, node("a").price(0.2), node("b").price(0.4)]).nodes
    plain = cluster_of([node("odd").price(0.2), node("a").price(0.2), node("b").price(0.4)]).nodes
    for scorer in (Stability(), Price()):
        expected = scorer.score(pod("p").build(), plain)
        assert np.isfinite(expected).all()
        assert scorer.score(pod("p").build(), nodes).tolist() == expected.tolist()


def test_factors_make_no_tiny_prices() -> None:
    discounts = [{"selector": "team", "factor": 1e-7}]
    market = Market(MarketSettings.model_validate({"discounts": discounts}), _TABLE)
    market.quote({"price": {"a": 0.05}})
    offer, origins = terms(market, typed("a").label("team", "a"))
    assert (offer.price, origins.price) == (0.05, Origin.PROMETHEUS)  # not 0.04 x 1e-7
    market = Market()
    market.learn({}, {pool_of(typed("a").build()): 1e-320})
    assert terms(market, typed("a").price(0.1))[0].median_price == 0.1


def test_what_prometheus_no_longer_reports_expires_after_an_hour() -> None:
    now = 0.0
    market = Market(clock=lambda: now)
    built = {name: typed(name, spot=name == "a").build() for name in "ab"}
    pool = pool_of(built["a"])._replace(zone="z")
    zoned = typed("zoned").label("topology.kubernetes.io/zone", "z")
    market.offers([*built.values(), zoned.build()])
    market.quote({"price": {"a": 0.5, "b": 0.6}}, {pool: 0.3})

    def prices() -> list[float]:
        return [market.offer_of(each).price for each in (*built.values(), zoned.build())]

    assert prices() == [0.5, 0.6, 0.3]
    now = 10_000.0  # failed queries, however long, are no answers
    market.quote({"median_price": {"a": 0.5}}, None)
    assert prices() == [0.5, 0.6, 0.3]
    market.quote({"price": {"b": 0.7}}, {})
    now += 3599
    market.quote({"price": {"a": math.nan, "b": 0.8}}, {})
    assert prices() == [0.5, 0.8, 0.3]
    now += 1
    market.quote({"price": {"b": 0.8}}, {})
    assert prices()[1] == 0.8
    assert not {"a", "zoned"} & market.sources.quotes["price"].keys()
    assert market.sources.offerings == {}
    market.quote({"price": {"a": 0.9, "b": 0.8}}, {})
    now += 3601
    market.quote({"price": {"b": 0.8}}, {})
    assert market.offer_of(built["a"]).price == 0.9  # missing again, since now


def test_what_prometheus_no_longer_mentions_stays_while_the_node_does() -> None:
    market = Market()
    market.offers([node("a").build(), node("b").build()])
    market.quote({"price": {"a": 0.5, "b": 0.6}})
    market.quote({"price": {"a": 0.7}})
    assert terms(market, node("b"))[0].price == 0.6
    market.offers([node("a").build()])
    market.quote({"price": {"a": 0.7}})
    assert math.isnan(terms(market, node("b"))[0].price)


def test_learned_beats_the_table_but_not_the_node() -> None:
    market = Market(table=_TABLE)
    market.learn({pool_of(typed("a").build()): Evidence(interruptions=5, node_hours=1000)})
    rate, origins = terms(market, typed("a"))[0].interruption_rate, terms(market, typed("a"))[1]
    assert rate > 0.9
    assert origins.interruption_rate is Origin.LEARNED
    told = typed("a").annotation("tradewind.dev/interruption-rate", "0.01")
    assert terms(market, told)[0].interruption_rate == 0.01


def test_a_termination_notice_takes_all_stability_at_once() -> None:
    going = node("a").price(1).annotation("tradewind.dev/median-price", "4")
    going = going.annotation("tradewind.dev/interruption-rate", "0.01")
    market = Market()
    assert terms(market, going)[0].interruption_rate == 0.01
    going = going.field("spec", "taints", value=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])
    offer, origins = terms(market, going)
    assert origins.interruption_rate is Origin.NOTICE
    assert (offer.durable, offer.leaving) == (False, True)
    told = node("a").price(offer.price).annotation("tradewind.dev/median-price", str(offer.median_price))
    told = told.annotation("tradewind.dev/interruption-rate", str(offer.interruption_rate))
    assert Stability().score(pod("p").build(), cluster_of([told]).nodes) == 0


def test_coverage_counts_every_node_once() -> None:
    market = Market(table=_TABLE)
    market.offers([typed("a").build(), typed("b").price(0.1).build(), typed("c", "x", spot=False).build()])
    coverage = market.coverage()
    assert coverage["price"] == pytest.approx(
        dict.fromkeys(Origin, 0.0) | {"table": 1 / 3, "node": 1 / 3, "estimated": 1 / 3}
    )
    assert all(sum(shares.values()) == pytest.approx(1) for shares in coverage.values())


def test_a_new_table_counts_from_the_next_look() -> None:
    market = Market(table=_TABLE)
    nodes = [typed("a").build()]
    market.offers(nodes)
    market.configure(
        MarketSettings(), PriceTable(csv_rows("instance_type,capacity_type,price\nm5.large,spot,0.2\n"))
    )
    assert market.offers(nodes)[0] == 0.2


def test_node_events_do_not_grow_the_memo() -> None:
    """A price that the table does not have stays unknown under a discount, and NaN does not equal NaN."""
    settings = MarketSettings.model_validate({"discounts": [{"selector": "team=shop", "factor": 0.5}]})
    market = Market(settings, PriceTable(csv_rows("instance_type,interruption_rate\nm5.large,0.2\n")))
    for beat in range(50):
        market.offer_of(typed("a").label("team", "shop").annotation("beat", str(beat)).build())
    assert len(market._memo[1]) == 1


class _Asking(PriceTable):
    """Asks the market about the node while the market asks it: as a thread would that comes in between."""

    def __init__(self, price: float) -> None:
        super().__init__(csv_rows(f"instance_type,price\nm5.large,{price}\n"))
        self.market: Market | None = None
        self.between: list[float] = []

    def quotes(self, node: Node, pool: Pool, region: str) -> tuple[Quote, Quote]:
        market, self.market = self.market, None
        if market is not None:
            self.between.append(market.offer_of(node).price)
        return super().quotes(node, pool, region)


def test_nobody_sees_a_node_whose_new_price_is_not_there_yet() -> None:
    market = Market(table=_TABLE)
    built = typed("a", spot=False).build()
    assert market.offer_of(built).price == 0.1
    table = _Asking(0.2)
    market.configure(MarketSettings(), table)
    table.market = market
    assert market.offer_of(built).price == 0.2
    assert table.between == [0.2]


def test_news_of_two_threads_are_both_kept() -> None:
    market = Market()
    built = typed("a").build()
    market.offers([built])

    def learn() -> None:
        for hours in range(200):
            market.learn({pool_of(built): Evidence(5, 100 + hours)})

    learner = threading.Thread(target=learn)
    learner.start()
    for i in range(200):
        market.quote({"price": {"a": 1 + i}})
    learner.join()
    assert market.offer_of(built).price == 200
    assert market.origins("a").interruption_rate is Origin.LEARNED
    assert market.version == 401


def test_offerings_of_karpenter_are_joined_by_type_zone_and_capacity_type() -> None:
    def zoned(name: str, zone: str, *, spot: bool = True) -> NodeBuilder:
        return typed(name, spot=spot).label("topology.kubernetes.io/zone", zone)

    market = Market()
    offerings = {
        Pool("m5.large", "a", "spot"): 0.03,
        Pool("m5.large", "b", "spot"): 0.04,
        Pool("m5.large", "a", "on-demand"): 0.096,
        Pool("m5.large", "b", "on-demand"): math.nan,
    }
    market.quote({"price": {"own-series": 0.05}}, offerings)
    nodes = [
        zoned("spot-a", "a"),
        zoned("spot-b", "b"),
        zoned("durable-a", "a", spot=False),
        zoned("durable-b", "b", spot=False),
        zoned("own-series", "a"),
    ]
    prices = market.offers([built.build() for built in nodes])[0]
    assert prices.tolist() == [0.03, 0.04, 0.096, 0.096, 0.05]
    assert market.origins("spot-a").price is Origin.PROMETHEUS
    assert market.origins("durable-b").price is Origin.ESTIMATED
    market.quote({"price": {}}, {})
    assert market.offer_of(nodes[0].build()).price == 0.03
    market.forget_quotes()
    assert math.isnan(market.offers([nodes[0].build()])[0, 0])
