"""What the verbs tell Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Histogram

# Whole requests take a tenth of a millisecond on a small cluster and some milliseconds on a large one.
_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class ExtenderMetrics:
    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        self.requests = self._counter(
            "requests", "Requests from kube-scheduler, by verb and outcome.", "verb", "outcome"
        )
        self.request_seconds = Histogram(
            "tradewind_request_duration_seconds",
            "Seconds from the last byte of a request to its answer.",
            ("verb",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rejected = self._counter("rejected_nodes", "Nodes rejected, by filter.", "rule")
        self.unknown = self._counter(
            "unknown_nodes", "Nodes in requests that are missing from the cluster state."
        )
        self.planned = self._counter(
            "planned_answers",
            "Answers to prioritize while a pod's plan is fresh, by what became of the planned node.",
            "outcome",
        )
        self.expected = self._counter(
            "expected_bindings",
            "Pods that counted as being on the node that was ranked first, by where the watch found them.",
            "outcome",
        )
        self.bindings = self._counter("bindings", "Pods bound for kube-scheduler, by outcome.", "outcome")
        self.explain_requests = self._counter(
            "explain_requests", "Requests to the exposed port of explain, by outcome.", "outcome"
        )
        self.certificate_reloads = self._counter(
            "certificate_reloads", "Certificate reloads, by result.", "result"
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"tradewind_{name}", text, labels, registry=self.registry)
