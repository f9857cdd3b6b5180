import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from scoring.eligible import can_satisfy
from scoring.filters.node_affinity import names_one_node
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Mask, all_nodes
from tradewind.cluster.names import ANNOTATION_PREFIX, MAX_PODS
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

MIN = ANNOTATION_PREFIX + "durable-min"
SHARE = ANNOTATION_PREFIX + "durable-share"
STRICT = ANNOTATION_PREFIX + "durable-strict"

# A DaemonSet chooses its pods' nodes, and a mirror pod belongs to the node whose kubelet runs it.
_CHOOSING_THE_NODE = frozenset({"DaemonSet", "Node"})


class _Required(NamedTuple):
    min: int
    share: float
    strict: bool

    def replicas(self, total: int) -> int:
        return max(self.min, math.ceil(self.share * total - 1e-9))


@dataclass(frozen=True)
class DurableFloor(PodFilter):
    """At least `min` replicas of a workload, and `share` of all of them, are on durable nodes.

    While too few of those that are placed are on durable nodes, spot nodes are closed to the next one. In a
    rollout the floor must hold for all replicas together, and for those of the pod's own ReplicaSet alone,
    which are what remains when the rollout is over.

    A pod whose node is fixed has no floor: DaemonSet and mirror pods, and those that name one node. Where no
    durable node is eligible for the pod the floor gives way, unless it is strict: a pod on a spot node beats
    a pod on none. The pod's annotations override the parameters.
    """

    name: ClassVar[str] = "durable_floor"
    reason: ClassVar[str] = "node(s) weren't durable while the workload has too few replicas on durable nodes"
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
        if pod.owner is None or not (floor := self._of(pod)).replicas(1) or not movable(pod):
            return all_nodes(len(nodes))
        if all(durable >= floor.replicas(total + 1) for durable, total in _replicas(pod, nodes)):
            return all_nodes(len(nodes))
        if not floor.strict and not can_satisfy(pod, nodes, nodes.cluster.durable):
            return all_nodes(len(nodes))
        return nodes.durable

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        """Without durable nodes nothing that is placed meets the floor."""
        if not self.counts_workload(pod) or can_satisfy(pod, nodes, nodes.cluster.durable):
            return all_nodes(len(nodes))
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        seen: set[tuple[frozenset[int], _Replicas]] = set()
        for index in sorted(waiting.subject):
            pod = waiting.pods[index]
            if not self.counts_workload(pod):
                continue
            for classes, placed in zip(_classes(pod, waiting.pods), _replicas(pod, nodes), strict=True):
                if (classes, placed) in seen:
                    continue
                seen.add((classes, placed))
                total = placed.total + sum(waiting.counts[i] for i in classes)
                required = [self.durable_replicas(pod, count) for count in range(total + 1)]
                reaching, others = reaching_durable(classes, waiting, nodes)
                if reaching:
                    relations.keep_durable(
                        reaching, durable=placed.durable, total=placed.total + others, required=required
                    )

    def counts_workload(self, pod: Pod) -> bool:
        return self.durable_replicas(pod, 1) > 0

    def durable_replicas(self, pod: Pod, total: int) -> int:
        return self._of(pod).replicas(total) if movable(pod) else 0

    def _of(self, pod: Pod) -> _Required:
        own = pod.annotations
        strict = {"true": True, "false": False}.get(own.get(STRICT, "").lower(), self.strict)
        return _Required(
            int(number(own.get(MIN), self.min, MAX_PODS)), number(own.get(SHARE), self.share, 1), strict
        )


def number(text: str | None, default: float, largest: float) -> float:
    """What the annotation says; one that makes no sense says nothing."""
    try:
        number = default if text is None else float(text)
    except ValueError:
        return default
    return number if 0 <= number <= largest and math.isfinite(number) else default


def movable(pod: Pod) -> bool:
    """Whether the pod has a controller, and may go to more than one node."""
    return pod.owner is not None and pod.owner.kind not in _CHOOSING_THE_NODE and not names_one_node(pod)


def reaching_durable(classes: Iterable[int], waiting: Waiting, nodes: Nodes) -> tuple[frozenset[int], int]:
    """Those of the classes for which a durable node is eligible, and the number of pods of the others.

    The others count as placed on spot nodes: they can go nowhere else.
    """
    durable = nodes.cluster.durable
    reaching = frozenset(i for i in classes if can_satisfy(waiting.pods[i], nodes, durable))
    return reaching, sum(waiting.counts[i] for i in frozenset(classes) - reaching)


class _Replicas(NamedTuple):
    durable: int
    total: int


def _replicas(pod: Pod, nodes: Nodes) -> tuple[_Replicas, _Replicas]:
    """Of the pod's workload, and of its own controller; pods that are being deleted don't count."""
    cluster = nodes.cluster
    owner_uid = pod.owner.uid if pod.owner else ""
    durable = total = own_durable = own_total = 0
    for group in cluster.groups_of_workload(pod.workload):
        if group.deleting:
            continue
        rows, counts = cluster.counts(group)
        placed, safe = int(counts.sum()), int(counts[cluster.durable[rows]].sum())
        durable, total = durable + safe, total + placed
        if group.owner_uid == owner_uid:
            own_durable, own_total = own_durable + safe, own_total + placed
    return _Replicas(durable, total), _Replicas(own_durable, own_total)


def _classes(pod: Pod, pods: Sequence[Pod]) -> tuple[frozenset[int], frozenset[int]]:
    """Which of these are of the pod's workload, and of its own controller."""
    workload = [index for index, each in enumerate(pods) if each.workload == pod.workload]
    return frozenset(workload), frozenset(index for index in workload if pods[index].owner == pod.owner)
