from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes, no_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.hints import Alternatives
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Cluster, Nodes


@dataclass(frozen=True)
class Xor(Hint, PodFilter):
    """Of the alternatives of one name at most p pods have a place at a time, and at most r on one node.

    Where their annotations differ the smallest numbers hold.
    """

    name: ClassVar[str] = "xor"
    reason: ClassVar[str] = "node(s) were closed because enough of the pod's alternatives have a place"
    resolvable: ClassVar[bool] = False  # which pods have to go is for their owners to say

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if hints.XOR not in pod.annotations:
            return all_nodes(len(nodes))
        own = hints.readable(pod).xor
        if not own.name:
            return all_nodes(len(nodes))
        there = _placed(own.name, pod.uid, nodes.cluster)
        limits = _strictest([own, *(hints.readable(each).xor for each in there)])
        if len(there) >= limits.max_pods:
            return no_nodes(len(nodes))
        if not limits.per_node:
            return all_nodes(len(nodes))
        return np.less(_on_nodes(there, nodes.cluster), limits.per_node).take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:  # noqa: ARG002  all of it is in the relations
        """Relations say why the others are closed, in better words."""
        return all_nodes(len(nodes))

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        wanted = {index: hints.readable(waiting.pods[index]).xor for index in sorted(waiting.subject)}
        for name in sorted({own.name for own in wanted.values()} - {""}):
            classes = [index for index, own in wanted.items() if own.name == name]
            there = _placed(name, "", nodes.cluster)
            limits = _strictest(
                [*(wanted[index] for index in classes), *(hints.readable(each).xor for each in there)]
            )
            relations.choose(name, classes, max(limits.max_pods - len(there), 0))
            if limits.per_node:
                codes = np.arange(len(nodes.cluster.table))
                relations.cap(codes, _on_nodes(there, nodes.cluster), classes, limits.per_node)


def _placed(name: str, uid: str, cluster: Cluster) -> list[Pod]:
    """The alternatives on nodes, but for this one."""
    return [pod for pod in cluster.roster.circle(hints.XOR, name) if pod.node_name and pod.uid != uid]


def _strictest(limits: Sequence[Alternatives]) -> Alternatives:
    per_node = [each.per_node for each in limits if each.per_node]
    return Alternatives("", min(each.max_pods for each in limits), min(per_node, default=0))


def _on_nodes(pods: Sequence[Pod], cluster: Cluster) -> Amounts:
    counts = np.zeros(len(cluster.table), np.int64)
    np.add.at(counts, cluster.table.rows([pod.node_name for pod in pods]), 1)
    return counts
