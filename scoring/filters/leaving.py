from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Mask
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class Leaving:
    """No termination notice says that the node is about to be taken away.

    For plans only, where the pod can have another node or wait for one. On the request path such a node is
    at the end of the stability score and not rejected: the others may be rejected by other rules, and a pod
    on a node for two more minutes beats one that an autoscaler thinks would fit there, and waits.
    """

    name: ClassVar[str] = "leaving"
    reason: ClassVar[str] = "node(s) had a termination notice"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:  # noqa: ARG002  the same for every pod
        return ~nodes.cluster.leaving.take(nodes.rows)
