"""The rules node by node in plain Python, as their docstrings define them: no columns, nothing kept."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Offer

_BOTH = ("cpu", "memory")
_TYPE_LABELS = "tradewind.dev/{0}-type", "node.kubernetes.io/{0}-type", "{0}type"


class Place(NamedTuple):
    node: Node
    offer: Offer
    pods: Sequence[Pod]
    cluster: Sequence[Node]
    troubles: float = 0.0  # the share of starts

    def total(self, resource: str) -> int:
        return self.node.allocatable.get(resource, 0)

    def free(self, resource: str) -> int:
        return self.total(resource) - sum(pod.requests.get(resource, 0) for pod in self.pods)


def _could_run(pod: Pod, node: Node, cluster: Sequence[Node]) -> bool:
    """If the node were empty; none has taints."""
    return all(
        node.allocatable.get(name, 0) >= request or ("/" in name and not _is_advertised(name, cluster))
        for name, request in pod.requests.items()
        if request > 0
    )


def _is_advertised(resource: str, cluster: Sequence[Node]) -> bool:
    return any(node.allocatable.get(resource, 0) > 0 for node in cluster)


def resource_fit(pod: Pod, places: Sequence[Place]) -> list[float]:
    def excess(place: Place, resource: str) -> float:
        left = place.free(resource) - pod.requests.get(resource, 0)
        return 0 if not place.total(resource) else 1 if left < 0 else left / place.total(resource)

    return [1 - statistics.fmean(excess(place, resource) for resource in _BOTH) for place in places]


def equivalence(pod: Pod, places: Sequence[Place]) -> list[float]:
    def deviation(place: Place, requests: Mapping[str, int]) -> float:
        shares = [
            max(place.free(each) - requests.get(each, 0), 0) / place.total(each) if place.total(each) else 1
            for each in _BOTH
        ]
        if not any(shares):
            return 0
        return (1 - sum(shares) / (math.hypot(*shares) * math.sqrt(2))) / (1 - 1 / math.sqrt(2))

    now = [deviation(place, {}) for place in places]
    after = [deviation(place, pod.requests) for place in places]
    closer = [then < before - 1e-12 for before, then in zip(now, after, strict=True)]
    if not any(closer):
        return [1 - each for each in after]
    rows = zip(closer, now, after, strict=True)
    return [0.5 + before / 2 if moved else (1 - then) / 2 for moved, before, then in rows]


def price(pod: Pod, places: Sequence[Place]) -> list[float]:
    def share(place: Place, resource: str, request: int) -> float:
        return min(request / place.total(resource), 1) if place.total(resource) else 1

    asked = [(name, request) for name, request in pod.requests.items() if request > 0]
    costs = [_expected(place.offer) * max(share(place, *each) for each in asked) for place in places]
    known = [cost for cost in costs if not math.isnan(cost)]
    if not known:
        return [0.5] * len(costs)
    median = statistics.median(known)
    costs = [median if math.isnan(cost) else cost for cost in costs]
    return [median / (median + cost) if median + cost else 1 for cost in costs]


def _expected(offer: Offer) -> float:
    known = offer.price > 0 and offer.median_price > 0
    return 0.75 * offer.price + 0.25 * offer.median_price if known else offer.price


def stability(_pod: Pod, places: Sequence[Place]) -> list[float]:
    def ratio(offer: Offer) -> float:
        return offer.price / offer.median_price if offer.price > 0 and offer.median_price > 0 else 1

    penalties = [place.offer.interruption_rate * ratio(place.offer) for place in places]
    scores = [1 - each / max(1, *penalties) for each in penalties]
    spot = [(place, score) for place, score in zip(places, scores, strict=True) if not place.offer.durable]
    if not spot:
        return scores
    best = max(score for _, score in spot)
    no_spot_price = all(math.isnan(place.offer.price) for place, _ in spot)
    return [
        min(score, best)
        if place.offer.durable and (no_spot_price or math.isnan(place.offer.price))
        else score
        for place, score in zip(places, scores, strict=True)
    ]


def workload_priority(pod: Pod, places: Sequence[Place]) -> list[float]:
    if pod.priority >= 1000:
        return [float(place.offer.durable) for place in places]
    return [float(not place.offer.durable) if pod.priority < 0 else 0.5 for place in places]


def guide(_pod: Pod, places: Sequence[Place]) -> list[float]:
    """There is none."""
    return [0.0] * len(places)


def history(_pod: Pod, places: Sequence[Place]) -> list[float]:
    return [1 / (1 + place.troubles) for place in places]


def disk_type(pod: Pod, places: Sequence[Place]) -> list[float]:
    return _typed("disk", pod, places)


def network_type(pod: Pod, places: Sequence[Place]) -> list[float]:
    return _typed("network", pod, places)


def _typed(kind: str, pod: Pod, places: Sequence[Place]) -> list[float]:
    wanted = pod.annotations.get(f"tradewind.dev/{kind}-type", "").split(",")

    def has(place: Place) -> str | None:
        carried = (place.node.labels.get(label.format(kind)) for label in _TYPE_LABELS)
        return next((value for value in carried if value is not None), None)

    return [float(wanted == [""] or has(place) in wanted) for place in places]


def resources(pod: Pod, place: Place) -> bool:
    return all(
        place.free(name) >= request or ("/" in name and not place.total(name))
        for name, request in pod.requests.items()
        if request > 0
    )


def limits(pod: Pod, place: Place) -> bool:
    wanted, placed = (sum(each.limits.get("memory", 0) for each in pods) for pods in ([pod], place.pods))
    eligible = [node for node in place.cluster if _could_run(pod, node, place.cluster)]
    highest = max((node.allocatable.get("memory", 0) for node in eligible), default=0)
    return not 0 < wanted <= 1.5 * highest or wanted + placed <= 1.5 * place.total("memory")


SCORERS: Mapping[str, Callable[[Pod, Sequence[Place]], list[float]]] = {
    rule.__name__: rule
    for rule in (
        resource_fit,
        disk_type,
        network_type,
        price,
        stability,
        workload_priority,
        equivalence,
        guide,
        history,
    )
}
FILTERS: Mapping[str, Callable[[Pod, Place], bool]] = {
    "resources": resources,
    "limits": limits,
    "disk_type": lambda pod, place: bool(disk_type(pod, [place])[0]),
    "network_type": lambda pod, place: bool(network_type(pod, [place])[0]),
}
