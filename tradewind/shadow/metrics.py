"""What the shadow tells Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge

from tradewind.shadow.account import ShadowAccount
from tradewind.shadow.cluster import Side

REAL, SHADOW = "real", "shadow"


class ShadowMetrics:
    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.on = self._gauge("shadow", "1 in the shadow: Tradewind records and advises nobody.")
        self.leading = self._gauge("shadow_leader", "1 in the replica that keeps the shadow cluster.")
        self.hourly = self._gauge(
            "shadow_cost_dollars_per_hour", "Cost of nodes in use, in reality and in the shadow.", "cluster"
        )
        self.nodes = self._gauge(
            "shadow_nodes_in_use", "Nodes in use, in reality and in the shadow.", "cluster"
        )
        self.dollars = self._gauge(
            "shadow_cost_dollars", "What nodes in use have cost since the shadow began.", "cluster"
        )
        self.interruptions = self._gauge(
            "shadow_interruptions_expected",
            "Interruptions of pods to expect by the nodes' rates, since the shadow began.",
            "cluster",
        )
        self.pods = self._gauge(
            "shadow_pods",
            "Pods bound since the shadow began, by Tradewind's node.",
            "node",
        )
        self.writes = Counter(
            "tradewind_shadow_writes",
            "Writes of the shadow's account, by result.",
            ("result",),
            registry=self.registry,
        )

    def show(self, account: ShadowAccount, real: Side, shadow: Side) -> None:
        period = account.shadow
        for cluster, side, total in ((REAL, real, period.real), (SHADOW, shadow, period.shadow)):
            self.hourly.labels(cluster).set(side.dollars)
            self.nodes.labels(cluster).set(side.nodes)
            self.dollars.labels(cluster).set(total.dollars)
            self.interruptions.labels(cluster).set(total.interruptions)
        for node, count in (("same", account.same), ("other", account.other), ("none", account.nowhere)):
            self.pods.labels(node).set(count)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"tradewind_{name}", text, labels, registry=self.registry)
