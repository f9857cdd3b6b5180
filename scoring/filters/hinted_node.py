from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Hint, Mask, all_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class HintedNode(Hint):
    """The node is the one that the pod's annotation names."""

    name: ClassVar[str] = "hinted_node"
    reason: ClassVar[str] = "node(s) weren't the one that the pod asks for"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        wanted = pod.annotations.get(hints.NODE)
        if not wanted:
            return all_nodes(len(nodes))
        return np.equal(nodes.rows, nodes.cluster.table.row_of.get(wanted, -1))
