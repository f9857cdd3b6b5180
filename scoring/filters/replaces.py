from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes, no_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class Replaces(Hint, PodFilter):
    """The node is that of the pod which the annotation says is to be replaced, as long as that is there.

    A pod that another of its namespace is to replace gets no node any more.
    """

    name: ClassVar[str] = "replaces"
    reason: ClassVar[str] = "node(s) weren't that of the pod to be replaced or were closed to a replaced pod"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        roster = nodes.cluster.roster
        if roster.reaching and any(
            each.namespace == pod.namespace and each.uid != pod.uid and not each.deleting
            for each in roster.successors(str(pod))
        ):
            return no_nodes(len(nodes))
        if hints.REPLACES not in pod.annotations:
            return all_nodes(len(nodes))
        wanted = hints.readable(pod).replaces
        there = roster.leaving.get(wanted) or roster.find(wanted)
        if there is None:
            return all_nodes(len(nodes))
        return np.equal(nodes.rows, nodes.cluster.table.row_of.get(there.node_name, -1))

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        """The pod that is replaced is no longer there, and no other pod has a part in it."""
