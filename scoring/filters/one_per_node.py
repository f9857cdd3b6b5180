from dataclasses import dataclass
from typing import ClassVar

from scoring.alike import counted_on, related_by
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class OnePerNode(Hint, PodFilter):
    """The node has no other pod of the pod's workload that asks for a node without others of its kind."""

    name: ClassVar[str] = "one_per_node"
    reason: ClassVar[str] = "node(s) had a pod of the workload that wants one per node"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if hints.ONE_PER_NODE not in pod.annotations or not hints.readable(pod).one_per_node:
            return all_nodes(len(nodes))
        pods = counted_on(hints.ONE_PER_NODE, pod, nodes.cluster)
        return np.equal(pods, 0).take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        codes = np.arange(len(nodes.cluster.table))
        for one, classes in related_by(hints.ONE_PER_NODE, waiting):
            if hints.readable(one).one_per_node:
                relations.cap(codes, counted_on(hints.ONE_PER_NODE, one, nodes.cluster), classes, 1)
