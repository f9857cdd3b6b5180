from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.filters.taints import tolerated
from scoring.rules import Mask, all_nodes
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.wire import Taint, Toleration

_CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@dataclass(frozen=True)
class Unschedulable:
    """The node is not cordoned, or the pod tolerates the taint that stands for it, put there or not."""

    name: ClassVar[str] = "unschedulable"
    reason: ClassVar[str] = "node(s) were unschedulable"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if tolerates_cordon(pod.tolerations):
            return all_nodes(len(nodes))
        return ~nodes.cluster.table.unschedulable.take(nodes.rows)


def tolerates_cordon(tolerations: Sequence[Toleration]) -> bool:
    # That taint has no value that could be compared.
    return tolerated(tolerations, _CORDONED, comparisons=False)
