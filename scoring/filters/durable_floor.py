import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from scoring.rules import Mask, everyone
from tradewind.cluster.objects import ANNOTATION_PREFIX, Pod
from tradewind.cluster.snapshot import Nodes

MIN = ANNOTATION_PREFIX + "durable-min"
SHARE = ANNOTATION_PREFIX + "durable-share"
STRICT = ANNOTATION_PREFIX + "durable-strict"


class _Floor(NamedTuple):
    min: int
    share: float
    strict: bool

    def replicas(self, total: int) -> int:
        return max(self.min, math.ceil(self.share * total - 1e-9))


@dataclass(frozen=True)
class DurableFloor:
    """Of one workload at least `min` replicas, and `share` of all of them, are on durable nodes.

    While the pods of the same controller that are placed already fall short, spot nodes are closed to the
    next one. Where the cluster has no durable node at all the floor gives way, unless it is strict: a pod on
    a spot node beats a pod on none. Annotations of the pod go before the parameters.
    """

    name: ClassVar[str] = "durable_floor"
    reason: ClassVar[str] = "workload has too few replicas on durable nodes to use a spot node"
    resolvable: ClassVar[bool] = False  # evicting pods from a spot node does not make it durable

    min: int = 0
    share: float = 0.0
    strict: bool = False

    def __post_init__(self) -> None:
        if self.min < 0:
            raise ValueError(f"min: {self.min} is negative")
        if not 0 <= self.share <= 1:
            raise ValueError(f"share: {self.share} is not within 0 and 1")

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if pod.owner is None:
            return everyone(len(nodes))
        floor = self._of(pod)
        if not (floor.min or floor.share):
            return everyone(len(nodes))
        if not floor.strict and not nodes.cluster.durable.any():
            return everyone(len(nodes))
        durable, total = _replicas(pod.owner.uid, nodes)
        if durable >= floor.replicas(total + 1):
            return everyone(len(nodes))
        return nodes.durable

    def required(self, pod: Pod, total: int) -> int:
        """How many of the `total` replicas of the pod's workload must be on durable nodes."""
        return self._of(pod).replicas(total)

    def _of(self, pod: Pod) -> _Floor:
        own = pod.annotations
        strict = {"true": True, "false": False}.get(own.get(STRICT, "").lower(), self.strict)
        return _Floor(
            int(_number(own.get(MIN), self.min, math.inf)), _number(own.get(SHARE), self.share, 1), strict
        )


def _number(text: str | None, default: float, largest: float) -> float:
    """What the annotation says; one that makes no sense says nothing."""
    try:
        number = default if text is None else float(text)
    except ValueError:
        return default
    return number if 0 <= number <= largest and math.isfinite(number) else default


def _replicas(owner_uid: str, nodes: Nodes) -> tuple[int, int]:
    """How many pods of the controller are on durable nodes, and on nodes at all; leaving ones don't count."""
    cluster = nodes.cluster
    durable = total = 0
    for group in cluster.groups_of_owner(owner_uid):
        if not group.deleting:
            rows, counts = cluster.counts(group)
            durable += int(counts[cluster.durable[rows]].sum())
            total += int(counts.sum())
    return durable, total
