from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes, no_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class Beside(Hint, PodFilter):
    """The node is that of the pod which the annotation names; while that has none, no node passes."""

    name: ClassVar[str] = "beside"
    reason: ClassVar[str] = "node(s) didn't have the pod that the pod must be beside"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        wanted = _wanted(pod)
        if not wanted:
            return all_nodes(len(nodes))
        there = nodes.cluster.roster.find(wanted)
        return no_nodes(len(nodes)) if there is None else _at(there, nodes)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        """One that waits too may go anywhere."""
        there = nodes.cluster.roster.find(_wanted(pod))
        return all_nodes(len(nodes)) if there is None else _at(there, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        codes = np.arange(len(nodes.cluster.table))
        alone = {str(pod): i for i, pod in enumerate(waiting.pods) if waiting.counts[i] == 1}
        wanted = {index: _wanted(waiting.pods[index]) for index in sorted(waiting.subject)}
        for name in sorted(set(wanted.values()) & alone.keys()):
            followers = [index for index, own in wanted.items() if own == name]
            nobody = np.zeros(len(codes), np.int64)
            relations.attract([codes], [nobody], followers=followers, targets=[alone[name]])


def _wanted(pod: Pod) -> str:
    return hints.readable(pod).beside if hints.BESIDE in pod.annotations else ""


def _at(there: Pod, nodes: Nodes) -> Mask:
    return np.equal(nodes.rows, nodes.cluster.table.row_of.get(there.node_name, -1))
