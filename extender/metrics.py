"""What Tradewind tells Prometheus."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

# Whole requests take a tenth of a millisecond on a small cluster and some milliseconds on a large one.
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class WatchView(Protocol):
    """What is shown of a watch; see cluster.watch."""

    @property
    def name(self) -> str: ...

    @property
    def age_seconds(self) -> float: ...

    events: int
    relists: int
    errors: int
    unreadable: int
    trouble: str


class WatchCollector(Collector):
    """What the watches know of themselves, read when somebody asks."""

    def __init__(self, watches: Sequence[WatchView]) -> None:
        self._watches = watches

    def collect(self) -> Iterator[Metric]:
        age = GaugeMetricFamily(
            "tradewind_cluster_age_seconds",
            "Time since the last sign of life of a watch.",
            labels=["resource"],
        )
        for watch in self._watches:
            age.add_metric([watch.name], watch.age_seconds)
        yield age
        yield self._counter("events", "Changes that a watch brought.")
        yield self._counter("relists", "Complete lists after the first.")
        yield self._counter("errors", "Failures of the connection or of the API server.")
        yield self._counter("unreadable", "Objects that could not be read; the version before stays.")

    def _counter(self, name: str, text: str) -> Metric:
        family = CounterMetricFamily(f"tradewind_cluster_{name}", text, labels=["resource"])
        for watch in self._watches:
            family.add_metric([watch.name], getattr(watch, name))
        return family


class Metrics:
    """One registry for each service, so that two in one process never share a counter."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self._counter("requests", "Requests of kube-scheduler by outcome.", "verb", "outcome")
        self.request_seconds = Histogram(
            "tradewind_request_duration_seconds",
            "Time from a request's last byte to its answer.",
            ("verb",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rejected = self._counter("rejected_nodes", "Nodes that a filter rejected.", "rule")
        self.unknown = self._counter(
            "unknown_nodes", "Nodes in requests that the cluster state did not know."
        )
        self.planned = self._counter(
            "planned_answers",
            "Answers to prioritize while a pod's plan is fresh, by what became of the planned node.",
            "outcome",
        )
        self.bindings = self._counter(
            "bindings", "Pods that kube-scheduler let us bind, by outcome.", "outcome"
        )
        self.protected = self._counter(
            "floor_replicas", "Replicas given a deletion cost, by outcome.", "outcome"
        )
        self.reloads = self._counter("config_reloads", "Configuration documents read by result.", "result")
        self.config_ok = self._gauge("config_ok", "1 while the newest configuration document is in force.")
        self.config_ok.set(1)
        self.certificate_reloads = self._counter(
            "certificate_reloads", "Certificates read by result.", "result"
        )
        self.objects = self._gauge("cluster_objects", "Objects in the cluster state.", "resource")
        self.synced = self._gauge("cluster_synced", "1 once everything was listed.")
        self.market_coverage = self._gauge(
            "market_coverage_ratio",
            "Share of nodes whose price or rate comes from here.",
            "quantity",
            "source",
        )
        self.market_age = self._gauge(
            "market_age_seconds", "Time since a source of prices and rates last had a word.", "source"
        )
        self.market_refused = self._counter(
            "market_refused", "Absurd prices and rates that were not taken, by source.", "source"
        )
        self.market_polls = self._counter("market_polls", "Rounds of queries to Prometheus.", "outcome")
        self.table_reloads = self._counter("price_table_reloads", "Price tables read by result.", "result")
        self.interruptions = self._counter("interruptions", "Nodes seen to be taken away.")
        self.memory_writes = self._counter(
            "learned_rates_writes", "Learned rates written by result.", "result"
        )
        self.learning_leader = self._gauge(
            "learning_leader", "1 in the replica that learns and writes, 0 in those that read."
        )
        self.cost = self._gauge(
            "cost_dollars_per_hour", "Estimated cost of nodes: all, used (more than daemons), idle.", "nodes"
        )
        self.plan_writes = self._counter(
            "plan_writes", "What the planner wrote on pods, by kind and outcome.", "kind", "outcome"
        )
        self.build = self._gauge("build_info", "Always 1.", "version")

    def observe(self, counts: Mapping[str, int], *, synced: bool) -> None:
        """Bring the gauges of the cluster state up to date."""
        for resource, count in counts.items():
            self.objects.labels(resource).set(count)
        self.synced.set(synced)

    def expose(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"tradewind_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"tradewind_{name}", text, labels, registry=self.registry)
