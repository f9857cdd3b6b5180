from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Mask, all_nodes
from scoring.topology import PodTable, SpreadDomains, present, tally
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.constraints import PodTerm, Spread
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches
from tradewind.cluster.snapshot import Cluster, Nodes


@dataclass(frozen=True)
class TopologySpread(PodFilter):
    """With the pod, the node's domain has at most maxSkew matching pods more than the emptiest domain.

    Domains and pods are counted on eligible nodes only: those that have the topology labels of all the pod's
    constraints, and that its node affinity (unless told to ignore it) and its tolerations (if told to honour
    taints) let it go to. A node that is not eligible passes if its domain has room all the same. With fewer
    domains than minDomains the emptiest one counts as empty.
    """

    name: ClassVar[str] = "topology_spread"
    reason: ClassVar[str] = "node(s) didn't match pod topology spread constraints"
    resolvable: ClassVar[bool] = True

    comparisons: bool = False  # as for Taints

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.spreads:
            return all_nodes(len(nodes))
        table = nodes.cluster.table
        mask = np.ones(len(table), np.bool_)
        for spread, each in spread_domains(pod.spreads, pod, nodes.cluster, comparisons=self.comparisons):
            fits = each.headroom(each.existing) >= int(each.itself)
            mask &= table.domains(spread.topology_key).to_nodes(fits)
        return mask.take(nodes.rows)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        for index in sorted(waiting.subject):
            pod = waiting.pods[index]
            for spread, each in spread_domains(pod.spreads, pod, nodes.cluster, comparisons=self.comparisons):
                relations.spread(each, index, counted(spread, pod, waiting.table, nodes.cluster))

    def label_keys(self, pods: Sequence[Pod], cluster: Cluster) -> Iterable[str]:  # noqa: ARG002  of the pods alone
        selectors = {spread.selector for pod in pods for spread in pod.spreads}
        return {each.key for selector in selectors for each in selector or ()}


def spread_domains(
    spreads: Sequence[Spread], pod: Pod, cluster: Cluster, *, comparisons: bool
) -> Iterator[tuple[Spread, SpreadDomains]]:
    """Each constraint of the pod with the domains that it speaks of."""
    if not spreads:
        return
    table = cluster.table
    labelled = np.all([table.domains(spread.topology_key).members for spread in spreads], axis=0)
    for spread in spreads:
        domains = table.domains(spread.topology_key)
        admitting = _admitting(spread, pod, cluster, comparisons=comparisons)
        counting = np.where(labelled & admitting, domains.codes, -1)
        eligible = np.bincount(counting + 1, minlength=len(domains.values) + 1)[1:] > 0
        yield (
            spread,
            SpreadDomains(
                codes=domains.codes,
                counting=counting,
                existing=tally(cluster, _spread_pods(spread, pod, cluster), counting, len(domains.values)),
                eligible=eligible,
                enough=int(eligible.sum()) >= max(spread.min_domains, 1),
                itself=matches(spread.selector, pod.labels),
                max_skew=spread.max_skew,
            ),
        )


def _admitting(spread: Spread, pod: Pod, cluster: Cluster, *, comparisons: bool) -> Mask:
    mask = np.ones(len(cluster.table), np.bool_)
    if spread.honor_node_affinity:
        mask &= accepted(pod, cluster.table)
    if spread.honor_taints:
        mask &= tolerable(pod, cluster.table, comparisons=comparisons)
    return mask


def counted(spread: Spread, pod: Pod, pods: PodTable, cluster: Cluster) -> frozenset[int]:
    """An empty selector matches the pod itself and counts nobody else, as kube-scheduler has it."""
    if not spread.selector:
        return frozenset()
    return pods.selected(
        cluster, PodTerm(spread.topology_key, spread.selector, frozenset({pod.namespace}), None)
    )


def _spread_pods(spread: Spread, pod: Pod, cluster: Cluster) -> list[PodGroup]:
    """Pods that are on their way out do not count. An empty selector counts nobody but the pod itself."""
    if not spread.selector:
        return []
    candidates = cluster.placed.group_index.candidates(spread.selector, (pod.namespace,))
    return [
        group
        for group in present(cluster, candidates)
        if group.namespace == pod.namespace
        and not group.deleting
        and matches(spread.selector, dict(group.labels))
    ]
