from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Mask, all_nodes
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class ReservedRoom:
    """The pod leaves the room that is reserved on the node for other pods: a gang's, or that of a move.

    The nodes count these pods already. A node that has too little room without them as well is not rejected
    here: kube-scheduler, which does not know of reservations, has found room there.
    """

    name: ClassVar[str] = "reserved_room"
    reason: ClassVar[str] = "node(s) had room that is reserved for other pods"
    resolvable: ClassVar[bool] = False  # evicting pods does not end a reservation

    pods: Sequence[Pod]  # as on their nodes

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = all_nodes(len(nodes))
        unreserved = nodes.taken(self.pods, by=-1)
        for resource, request in pod.requests.items():
            left, room = nodes.free_of(resource), unreserved.free_of(resource)
            if request > 0 and left is not None and room is not None:
                mask = mask & ((left >= request) | (room < request))
        return mask
