from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Hint, Mask, all_nodes
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import parse_selector
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class HintedLabels(Hint):
    """The node has the labels that the pod's annotation selects."""

    name: ClassVar[str] = "hinted_labels"
    reason: ClassVar[str] = "node(s) didn't have the labels that the pod asks for"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if hints.NODE_LABELS not in pod.annotations:
            return all_nodes(len(nodes))
        wanted = hints.readable(pod).node_labels
        if not wanted:
            return all_nodes(len(nodes))
        return nodes.cluster.table.satisfying(parse_selector(wanted)).take(nodes.rows)
