from dataclasses import dataclass
from typing import ClassVar

from scoring.filters.node_affinity import matching
from scoring.rules import Mask
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class VolumeAffinity:
    """The node matches the node affinity of every volume that the pod's claims are bound to.

    A pod whose volumes are not known is not restricted: kube-scheduler has the last word.
    """

    name: ClassVar[str] = "volume_affinity"
    reason: ClassVar[str] = "node(s) didn't match PersistentVolume's node affinity"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = np.ones(len(nodes), np.bool_)
        for terms in pod.volume_terms or ():
            mask &= matching((), terms, nodes.cluster.table).take(nodes.rows)
        return mask
