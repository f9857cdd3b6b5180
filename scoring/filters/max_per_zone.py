from dataclasses import dataclass
from typing import ClassVar

from scoring.alike import counted_on, related_by
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes


@dataclass(frozen=True)
class MaxPerZone(Hint, PodFilter):
    """The node's zone has fewer pods of the pod's workload with this hint than the hint says.

    A node without a zone passes: there is nothing to count.
    """

    name: ClassVar[str] = "max_per_zone"
    reason: ClassVar[str] = "node(s) were in a zone with as many pods of the workload as it allows"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if hints.MAX_PER_ZONE not in pod.annotations:
            return all_nodes(len(nodes))
        limit = hints.readable(pod).max_per_zone
        if not limit:
            return all_nodes(len(nodes))
        zones = nodes.cluster.table.domains(hints.SPREAD_KEY)
        return zones.to_nodes(_in_zones(pod, nodes) < limit, otherwise=True).take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        zones = nodes.cluster.table.domains(hints.SPREAD_KEY)
        for one, classes in related_by(hints.MAX_PER_ZONE, waiting):
            limit = hints.readable(one).max_per_zone
            if limit:
                relations.cap(zones.codes, _in_zones(one, nodes), classes, limit)


def _in_zones(pod: Pod, nodes: Nodes) -> Amounts:
    """(D,) such pods of the workload in each zone."""
    zones = nodes.cluster.table.domains(hints.SPREAD_KEY)
    counts = np.zeros(len(zones.values) + 1, np.int64)
    np.add.at(counts, zones.codes, counted_on(hints.MAX_PER_ZONE, pod, nodes.cluster))
    return counts[:-1]
