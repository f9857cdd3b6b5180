from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Mask, everyone
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class HostPorts:
    """The ports that the pod wants on the node itself are free there, for its address or for all of them."""

    name: ClassVar[str] = "host_ports"
    reason: ClassVar[str] = "without a free host port that the pod needs"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.host_ports:
            return everyone(len(nodes))
        cluster = nodes.cluster
        free = np.ones(len(cluster.table), np.bool_)
        for taken, node_names in cluster.placed.ports.items():
            if any(taken.conflicts(wanted) for wanted in pod.host_ports):
                free[cluster.table.rows(node_names)] = False
        return free.take(nodes.rows)
