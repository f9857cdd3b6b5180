from pathlib import Path

import pytest

from tests.builders import NodeBuilder, node, pod
from tradewind.cluster.cache import Cache
from tradewind.config import document as config
from tradewind.errors import ConfigurationError, PriceTableError
from tradewind.market.coverage import NOT_USED
from tradewind.market.feed import MarketFeed
from tradewind.market.market import Market
from tradewind.market.metrics import MarketMetrics
from tradewind.market.settings import MarketSettings, PrometheusSettings

_TYPE = "node.kubernetes.io/instance-type"


class Fed:
    """A cluster of two types, its market and its metrics."""

    def __init__(self, settings: MarketSettings) -> None:
        self.market = Market()
        self.cache = Cache(self.market.offer_of)
        self.metrics = MarketMetrics()
        self.refused: list[str] = []
        self.feed = MarketFeed(self.market, self.cache, settings, self.metrics)
        for built in (typed("a", "small"), typed("b", "small"), typed("c", "large").cpu(8)):
            self.cache.apply_node(built.build())

    def follow(self, settings: MarketSettings) -> list[float]:
        """The prices of all nodes afterwards."""
        self.feed.follow(settings, self.refused.append)
        return [float(price) for price in self.cache.snapshot().nodes.price]

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"tradewind_{name}", labels)


def typed(name: str, instance_type: str) -> NodeBuilder:
    return node(name).label(_TYPE, instance_type)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text("instance_type,price\nsmall,1\nlarge,3\n")
    return path


def test_a_changed_table_is_followed_and_a_broken_one_is_not(table: Path) -> None:
    settings = MarketSettings(table=table)
    fed = Fed(settings)
    assert fed.follow(settings) == [1, 1, 3]
    table.write_text("instance_type,price\nsmall,2\nlarge,-3\n")
    assert fed.follow(settings) == [1, 1, 3]
    assert "line 3, column price" in fed.refused[0]
    assert fed.metric("price_table_reloads_total", result="refused") == 1
    table.write_text("instance_type,price\nsmall,2\nlarge,4.5\n")
    assert fed.follow(settings) == [2, 2, 4.5]
    assert len(fed.refused) == 1


def test_a_refused_table_gets_older(table: Path) -> None:
    settings = MarketSettings(table=table)
    fed = Fed(settings)
    read_at = fed.market.changed_at["table"]
    table.write_text("nonsense")
    fed.follow(settings)
    assert fed.market.changed_at["table"] == read_at
    table.write_text("instance_type,price\nsmall,2\n")
    fed.follow(settings)
    assert fed.market.changed_at["table"] > read_at


def test_changed_settings_are_followed(table: Path) -> None:
    fed = Fed(MarketSettings())
    discounted = {"table": table, "discounts": [{"selector": f"{_TYPE}=large", "factor": 0.5}]}
    assert fed.follow(MarketSettings.model_validate(discounted)) == [1, 1, 1.5]


def test_a_broken_table_is_refused_at_the_start(table: Path) -> None:
    table.write_text("nonsense")
    with pytest.raises(PriceTableError, match=r"prices\.csv"):
        Fed(MarketSettings(table=table))


def test_nodes_that_come_later_are_estimated_from_those_that_are_known(table: Path) -> None:
    settings = MarketSettings(table=table)
    fed = Fed(settings)
    fed.follow(settings)
    fed.cache.apply_node(typed("d", "unheard-of").build())
    assert fed.follow(settings) == [1, 1, 3, 1]
    assert fed.metric("market_coverage_ratio", quantity="price", source="estimated") == 0.25
    assert fed.metric("market_coverage_ratio", quantity="price", source="table") == 0.75


def test_nothing_is_done_while_nothing_changes(table: Path) -> None:
    settings = MarketSettings(table=table)
    fed = Fed(settings)
    fed.follow(settings)
    before = fed.cache.snapshot()
    fed.follow(settings)
    assert fed.cache.snapshot() is before


def test_cost_of_all_used_and_idle_nodes(table: Path) -> None:
    settings = MarketSettings(table=table)
    fed = Fed(settings)
    fed.cache.apply_pod(pod("work").on("a").build())
    daemon = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]
    fed.cache.apply_pod(pod("ending").on("b").deleting().build())
    fed.cache.apply_pod(pod("daemon").on("c").field("metadata", "ownerReferences", value=daemon).build())
    fed.follow(settings)
    costs = {nodes: fed.metric("cost_dollars_per_hour", nodes=nodes) for nodes in ("all", "used", "idle")}
    assert costs == {"all": 5, "used": 1, "idle": 4}


def test_refused_values_are_counted_once() -> None:
    fed = Fed(MarketSettings())
    fed.cache.apply_node(typed("a", "small").annotation("tradewind.dev/price", "-1").build())
    for _ in range(2):
        fed.follow(MarketSettings())
    assert fed.metric("market_refused_total", source="node") == 1


def test_a_prometheus_that_is_down_costs_nothing_but_freshness(caplog: pytest.LogCaptureFixture) -> None:
    settings = MarketSettings(prometheus=PrometheusSettings(url="http://127.0.0.1:9", interval_seconds=1e-9))
    fed = Fed(settings)
    fed.market.quote({"price": {"a": 0.7}})
    for _ in range(3):
        fed.feed.poll()
    assert fed.follow(settings)[0] == 0.7
    assert fed.metric("market_polls_total", outcome="failed") == 3
    assert caplog.text.count("querying Prometheus failed") == 1
    fed.feed.observe()
    age = fed.metric("market_age_seconds", source="prometheus")
    assert age is not None
    assert age > 0


_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


def test_the_table_is_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(_HEAD + "market: {table: prices.csv}")
    assert config.read(tmp_path / "config.yaml").market.table == tmp_path / "prices.csv"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("market: {tabel: x}", "market.tabel"),
        ("market: {priors: {spot: 1.5}}", "market.priors.spot"),
        ("market: {priors: {onDemand: 0}}", "market.priors.onDemand"),
        ("market: {discounts: [{selector: 'a in b', factor: 1}]}", "market.discounts.0.selector"),
        ("market: {discounts: [{selector: a, factor: -1}]}", "market.discounts.0.factor"),
        ("market: {prometheus: {}}", "market.prometheus.url"),
        ("market: {prometheus: {url: 'ftp://x'}}", "market.prometheus.url"),
        (
            "market: {prometheus: {url: 'http://x', intervalSeconds: 0}}",
            "market.prometheus.intervalSeconds",
        ),
        (
            "market: {prometheus: {url: 'https://x', certFile: a}}",
            "market.prometheus: certFile and keyFile",
        ),
        ("market: {learned: {halfLifeHours: .inf}}", "market.learned.halfLifeHours"),
    ],
)
def test_broken_settings_are_refused_with_their_path(text: str, path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(_HEAD + text)
    assert path in str(caught.value)


def test_coverage_is_logged_at_the_start_and_when_it_becomes_none_some_or_all(
    table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fed = Fed(MarketSettings())
    with caplog.at_level("INFO"):
        for settings in (MarketSettings(), MarketSettings(table=table)):
            for _ in range(3):
                fed.follow(settings)
                fed.feed.report()
        fed.cache.apply_node(typed("d", "unheard-of").build())
        fed.follow(settings)
        fed.feed.report()
    said = [record.getMessage() for record in caplog.records if "have a price" in record.getMessage()]
    estimated = "1 estimated from similar nodes. The price table has no price for unheard-of (on-demand)."
    assert said == [
        f"0 of 3 nodes have a price: {NOT_USED}.",
        "3 of 3 nodes have a price: 3 from the price table.",
        f"3 of 4 nodes have a price: 3 from the price table; {estimated}",
    ]
    assert fed.metric("market_nodes", source="table") == 3
    assert fed.metric("market_nodes", source="estimated") == 1


def test_coverage_waits_for_the_first_answer_of_prometheus(caplog: pytest.LogCaptureFixture) -> None:
    settings = MarketSettings(prometheus=PrometheusSettings(url="http://127.0.0.1:9"))
    fed = Fed(settings)
    fed.follow(settings)
    fed.feed.report()
    assert "have a price" not in caplog.text
    fed.feed.poll()
    fed.feed.report()
    assert "0 of 3 nodes have a price" in caplog.text
