"""Signs on a node that it is about to be taken away."""

from typing import NamedTuple

from tradewind.cluster.objects import SHUTDOWN, Node


class Notice(NamedTuple):
    sign: str  # the taint or condition
    interruption: bool  # and not somebody's choice to run fewer nodes


# Taint keys. Karpenter uses one taint for reclaimed and for consolidated nodes; pods must go either way.
_TAINTS = {
    "aws-node-termination-handler/spot-itn": True,
    "aws-node-termination-handler/scheduled-maintenance": True,
    "aws-node-termination-handler/rebalance-recommendation": False,  # a warning that may come to nothing
    "aws-node-termination-handler/asg-lifecycle-termination": False,  # scaled in
    "karpenter.sh/disrupted": True,
    "karpenter.sh/disruption": True,  # before Karpenter 1.0
    "cloud.google.com/impending-node-termination": True,
    "remediator.aks.microsoft.com/unschedulable": True,
    "remediator.kubernetes.azure.com/unschedulable": True,
    "node.cloudprovider.kubernetes.io/shutdown": True,
}

# Conditions or their reasons: of AKS' node problem detector, and of a kubelet on its way out, as on GKE.
_CONDITIONS = ("PreemptScheduled", "TerminateScheduled", "RedeployScheduled", SHUTDOWN)

_SCALED_DOWN = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler")


def notice_of(node: Node) -> Notice | None:
    for taint in node.taints:
        interruption = _TAINTS.get(taint.key)
        if interruption is not None:
            return Notice(taint.key, interruption)
    sign = next((condition for condition in node.conditions if condition in _CONDITIONS), None)
    return Notice(sign, interruption=True) if sign else None


def leaves_by_choice(node: Node) -> bool:
    """Whether nobody should wonder when the node is gone: drained by a person, or one too many."""
    return node.unschedulable or any(taint.key in _SCALED_DOWN for taint in node.taints)
