"""What an extender says of its own work: requests by verb and outcome, and how long they took.

Read from its metrics, whose names end alike for every contender: `..._requests_total{verb,outcome}` and, for
those that measure it, the histogram `..._request_duration_seconds{verb}`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import urllib3
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

VERBS = ("filter", "prioritize")
_DURATION = "_request_duration_seconds"


@dataclass(frozen=True, kw_only=True)
class Service:
    """One verb's requests since the extender's start."""

    outcomes: dict[str, int] = field(default_factory=dict)
    # Milliseconds in the extender, without the way there and back; the quantiles are as fine as its buckets.
    mean_ms: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None

    def complete(self, pods: int) -> bool:
        """Every pod was asked about, and every answer was a real one."""
        return set(self.outcomes) == {"ok"} and self.outcomes["ok"] >= pods


def gauge(metrics: str, name: str, **labels: str) -> float:
    return next(each.value for each in _samples(metrics) if each.name == name and each.labels == labels)


def _samples(metrics: str) -> list[Sample]:
    text = urllib3.request("GET", metrics, timeout=10.0, retries=False).data.decode()
    return [sample for family in text_string_to_metric_families(text) for sample in family.samples]


def read(metrics: str) -> dict[str, Service]:
    samples = _samples(metrics)
    return {
        verb: _service([entry for entry in samples if entry.labels.get("verb") == verb]) for verb in VERBS
    }


def _service(samples: Sequence[Sample]) -> Service:
    outcomes = {
        entry.labels["outcome"]: int(entry.value)
        for entry in samples
        if entry.name.endswith("_requests_total") and entry.value
    }
    count = sum(_values(samples, f"{_DURATION}_count"))
    if not count:
        return Service(outcomes=outcomes)
    buckets = [
        (float(entry.labels["le"]), entry.value)
        for entry in samples
        if entry.name.endswith(f"{_DURATION}_bucket")
    ]
    return Service(
        outcomes=outcomes,
        mean_ms=1e3 * sum(_values(samples, f"{_DURATION}_sum")) / count,
        p50_ms=1e3 * quantile(0.5, buckets),
        p99_ms=1e3 * quantile(0.99, buckets),
    )


def _values(samples: Iterable[Sample], ending: str) -> Iterable[float]:
    return (entry.value for entry in samples if entry.name.endswith(ending))


def quantile(share: float, buckets: Sequence[tuple[float, float]]) -> float:
    """As Prometheus' histogram_quantile: evenly spread inside the bucket (upper bound, count up to it)."""
    ordered = [(0.0, 0.0), *sorted(buckets)]
    wanted = share * ordered[-1][1]
    for (low, before), (high, upto) in pairwise(ordered):
        if upto >= wanted and upto > before:
            # Above the last bound nothing is known but that bound.
            return low if high == float("inf") else low + (high - low) * (wanted - before) / (upto - before)
    raise ValueError("a histogram without observations has no quantiles")
