"""Metrics of prices, interruption rates and what is learned."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class MarketMetrics:
    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.coverage = self._gauge(
            "market_coverage_ratio",
            "Share of nodes whose price or rate comes from this source.",
            "quantity",
            "source",
        )
        self.nodes = self._gauge(
            "market_nodes", "Nodes by the source of their price; `unknown` have none.", "source"
        )
        self.implausible = self._gauge(
            "market_implausible_nodes",
            "Nodes whose price from this source is implausible and not used.",
            "source",
        )
        self.age = self._gauge(
            "market_age_seconds", "Time since a source of prices and rates was last updated.", "source"
        )
        self.refused = self._counter(
            "market_refused",
            "Prices and rates refused because they are no numbers or out of range, by source.",
            "source",
        )
        self.polls = self._counter("market_polls", "Rounds of queries to Prometheus.", "outcome")
        self.table_reloads = self._counter(
            "price_table_reloads", "Reloads of the price table, by result.", "result"
        )
        self.interruptions = self._counter(
            "interruptions", "Interruptions of nodes recorded by this replica."
        )
        self.memory_writes = self._counter(
            "learned_rates_writes", "Writes of the learned rates, by result.", "result"
        )
        self.learning_leader = self._gauge(
            "learning_leader", "1 in the replica that learns and writes, 0 in those that read."
        )
        self.cost = self._gauge(
            "cost_dollars_per_hour", "Estimated cost of nodes: all, used (more than daemons), idle.", "nodes"
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"tradewind_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"tradewind_{name}", text, labels, registry=self.registry)
