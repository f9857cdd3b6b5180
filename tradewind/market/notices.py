"""Signs on a node that it is about to go."""

from enum import StrEnum
from typing import NamedTuple

from tradewind.cluster.objects import SHUTDOWN, Node


class Cause(StrEnum):
    INTERRUPTION = "interruption"  # the provider takes it
    KARPENTER = "karpenter"  # the same taint for interruption, consolidation, drift and expiry
    SHUTDOWN = "shutdown"  # the machine stops; nobody says why
    CHOICE = "choice"  # somebody wants fewer nodes, or it may come to nothing


class Notice(NamedTuple):
    sign: str  # the taint or condition
    cause: Cause


_TAINTS = {
    "aws-node-termination-handler/spot-itn": Cause.INTERRUPTION,
    "aws-node-termination-handler/scheduled-maintenance": Cause.INTERRUPTION,
    "cloud.google.com/impending-node-termination": Cause.INTERRUPTION,
    "remediator.aks.microsoft.com/unschedulable": Cause.INTERRUPTION,
    "remediator.kubernetes.azure.com/unschedulable": Cause.INTERRUPTION,
    "karpenter.sh/disrupted": Cause.KARPENTER,
    "karpenter.sh/disruption": Cause.KARPENTER,  # before Karpenter 1.0
    "node.cloudprovider.kubernetes.io/shutdown": Cause.SHUTDOWN,
    "aws-node-termination-handler/rebalance-recommendation": Cause.CHOICE,  # a warning, often of nothing
    "aws-node-termination-handler/asg-lifecycle-termination": Cause.CHOICE,  # scaled in
}

# Conditions or their reasons: of AKS' node problem detector, and of a kubelet on its way out, as on GKE.
_CONDITIONS = {
    "PreemptScheduled": Cause.INTERRUPTION,
    "TerminateScheduled": Cause.INTERRUPTION,
    "RedeployScheduled": Cause.INTERRUPTION,
    SHUTDOWN: Cause.SHUTDOWN,
}

_SCALED_DOWN = ("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler")
_TELLING = tuple(Cause)


def notice_of(node: Node) -> Notice | None:
    """Of several signs the one that tells most: a machine that Karpenter gives back shuts down as well."""
    signs = [Notice(taint.key, cause) for taint in node.taints if (cause := _TAINTS.get(taint.key))]
    signs += [Notice(name, cause) for name in node.conditions if (cause := _CONDITIONS.get(name))]
    return min(signs, key=lambda notice: _TELLING.index(notice.cause), default=None)


def leaves_by_choice(node: Node) -> bool:
    """Whether nobody should wonder when the node is gone: drained by a person, or one too many."""
    return node.unschedulable or any(taint.key in _SCALED_DOWN for taint in node.taints)
