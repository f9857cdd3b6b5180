"""Which nodes a pod could ever run on: what decides whether a rule of ours can be satisfied at all.

A rule that no eligible node satisfies gives way. kube-scheduler and autoscalers know nothing of our rules, so
the pod would be pending for ever.
"""

from scoring.filters.node_affinity import matching
from scoring.filters.resources import is_delegable
from scoring.filters.taints import tolerating
from scoring.filters.unschedulable import tolerates_cordon
from scoring.rules import Mask
from scoring.shares import allocatable
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, frozen
from tradewind.cluster.table import NodeTable
from tradewind.cluster.wire import NodeSelectorTerm, Toleration


def can_satisfy(pod: Pod, nodes: Nodes, satisfying: Mask) -> bool:
    """Whether one of these (N,) nodes of the cluster, which satisfy a rule, is eligible."""
    return bool((satisfying & eligible(pod, nodes)).any())


def eligible(pod: Pod, nodes: Nodes) -> Mask:
    """(N,) of all nodes of the cluster, those that the pod could run on if they were empty.

    Node selector, node affinity, taints, cordons and allocatable resources decide. When in doubt a node is
    not eligible: where a claim, or a DeviceClass for a resource that no node advertises, can be satisfied is
    not known here, so only candidates are eligible for a pod that needs one.
    """
    mask = nodes.cluster.table.derived(
        _admitting, tuple(pod.node_selector.items()), pod.node_terms, pod.tolerations
    )
    only_candidates = bool(pod.claims)
    for resource, request in pod.requests.items():
        if request <= 0:
            continue
        total = allocatable(nodes.columns.supply, (resource,))[0]
        if is_delegable(resource) and not total.any():
            only_candidates = True
        else:
            mask = mask & (total >= request)
    if only_candidates:
        candidates = np.zeros(len(mask), np.bool_)
        candidates[nodes.rows] = True
        mask = mask & candidates
    return mask


def _admitting(
    table: NodeTable,
    selector: tuple[tuple[str, str], ...],
    terms: tuple[NodeSelectorTerm, ...] | None,
    tolerations: tuple[Toleration, ...],
) -> Mask:
    mask = matching(selector, terms, table) & tolerating(tolerations, table, comparisons=False)
    if not tolerates_cordon(tolerations):
        mask &= ~table.unschedulable
    return frozen(mask)
