from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Mask, all_nodes
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class HostPorts(PodFilter):
    """The ports that the pod wants on the node itself are free there, for its address or for all of them."""

    name: ClassVar[str] = "host_ports"
    reason: ClassVar[str] = "node(s) didn't have free ports for the requested pod ports"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.host_ports:
            return all_nodes(len(nodes))
        cluster = nodes.cluster
        free = np.ones(len(cluster.table), np.bool_)
        for taken, node_names in cluster.placed.ports.items():
            if any(taken.conflicts(wanted) for wanted in pod.host_ports):
                free[cluster.table.rows(node_names)] = False
        return free.take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        pods = waiting.pods
        ports = {port for index in waiting.subject for port in pods[index].host_ports}
        for port in sorted(ports, key=str):
            left = (i for i in waiting.subject if port in pods[i].host_ports)
            right = (i for i, pod in enumerate(pods) if any(port.conflicts(o) for o in pod.host_ports))
            relations.exclude(np.arange(len(nodes)), left, right)
