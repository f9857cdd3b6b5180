from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Mask, everyone
from scoring.topology import beside, matching, repelling, rows_with, widened
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class PodAntiAffinity:
    """The node shares no domain with a pod that the pod's required anti-affinity excludes, nor with one whose
    own anti-affinity excludes the pod.
    """

    name: ClassVar[str] = "pod_anti_affinity"
    reason: ClassVar[str] = "too near to pods from which anti-affinity keeps the pod apart"
    resolvable: ClassVar[bool] = True

    widened_namespaces: bool = False  # as for PodAffinity

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        cluster = nodes.cluster
        terms = [widened(term) if self.widened_namespaces else term for term in pod.anti_affinity]
        avoided = [(term.topology_key, matching(cluster, term)) for term in terms]
        near = [(key, groups) for key, groups in (*avoided, *repelling(cluster, pod).items()) if groups]
        if not near:
            return everyone(len(nodes))
        excluded = np.zeros(len(cluster.table), np.bool_)
        for key, groups in near:
            excluded |= beside(cluster.table, key, rows_with(cluster, groups))
        return ~excluded.take(nodes.rows)
