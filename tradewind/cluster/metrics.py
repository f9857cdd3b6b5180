"""What the cluster state tells Prometheus."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class WatchView(Protocol):
    """What is shown of a watch; see tradewind.kube.watch."""

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
            "Seconds since the watch last heard from the API server.",
            labels=["resource"],
        )
        for watch in self._watches:
            age.add_metric([watch.name], watch.age_seconds)
        yield age
        yield self._counter("events", "Watch events received.")
        yield self._counter("relists", "Relists after the first list.")
        yield self._counter("errors", "Lists and watches that failed.")
        yield self._counter("unreadable", "Objects that could not be decoded; the previous version stays.")

    def _counter(self, name: str, text: str) -> Metric:
        family = CounterMetricFamily(f"tradewind_cluster_{name}", text, labels=["resource"])
        for watch in self._watches:
            family.add_metric([watch.name], getattr(watch, name))
        return family


class ClusterMetrics:
    def __init__(self, registry: CollectorRegistry, watches: Sequence[WatchView]) -> None:
        registry.register(WatchCollector(watches))
        self._objects = Gauge(
            "tradewind_cluster_objects", "Objects in the cluster state.", ["resource"], registry=registry
        )
        self._synced = Gauge(
            "tradewind_cluster_synced", "1 once nodes, pods and namespaces are listed.", registry=registry
        )

        self._stale = Gauge(
            "tradewind_cluster_stale", "1 while a watch has been silent for too long.", registry=registry
        )

    def observe(self, counts: Mapping[str, int], *, synced: bool, stale: bool) -> None:
        for resource, count in counts.items():
            self._objects.labels(resource).set(count)
        self._synced.set(synced)
        self._stale.set(stale)


class GuideMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.followed = Gauge(
            "tradewind_guide_followed", "1 while a guide of the standing plan is followed.", registry=registry
        )
        self.age = Gauge(
            "tradewind_guide_age_seconds", "Seconds since the followed guide was solved.", registry=registry
        )
        self.refused = Counter(
            "tradewind_guide_refused",
            "Guides that were let go of or never followed, by why.",
            ["reason"],
            registry=registry,
        )
