from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from scoring.rules import Mask, everyone
from scoring.topology import present, tally
from tradewind.cluster.constraints import Spread
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches
from tradewind.cluster.snapshot import Cluster, Nodes


@dataclass(frozen=True)
class TopologySpread:
    """With the pod, the node's domain has at most maxSkew matching pods more than the emptiest domain.

    Domains and pods are counted on eligible nodes only: those that have the topology labels of all the pod's
    constraints, and that its node affinity (unless told to ignore it) and its tolerations (if told to honour
    taints) let it go to. A node that is not eligible passes if its domain has room all the same. With fewer
    domains than minDomains the emptiest one counts as empty.
    """

    name: ClassVar[str] = "topology_spread"
    reason: ClassVar[str] = "outside of what the pod's topology spread constraints allow"
    resolvable: ClassVar[bool] = True

    comparisons: bool = False  # as for Taints

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.spreads:
            return everyone(len(nodes))
        cluster = nodes.cluster
        mask = np.ones(len(cluster.table), np.bool_)
        labelled = np.all(
            [cluster.table.domains(spread.topology_key).members for spread in pod.spreads], axis=0
        )
        for spread in pod.spreads:
            mask &= self._level(spread, pod, cluster, labelled & self._admitting(spread, pod, cluster))
        return mask.take(nodes.rows)

    def _admitting(self, spread: Spread, pod: Pod, cluster: Cluster) -> Mask:
        mask = np.ones(len(cluster.table), np.bool_)
        if spread.honor_node_affinity:
            mask &= accepted(pod, cluster.table)
        if spread.honor_taints:
            mask &= tolerable(pod, cluster.table, comparisons=self.comparisons)
        return mask

    @staticmethod
    def _level(spread: Spread, pod: Pod, cluster: Cluster, eligible: Mask) -> Mask:
        domains = cluster.table.domains(spread.topology_key)
        codes = np.where(eligible, domains.codes, -1)
        pods = tally(cluster, _spread_pods(spread, pod, cluster), codes, len(domains.values))
        eligible_domains = np.flatnonzero(np.bincount(codes + 1, minlength=pods.size + 1)[1:])
        enough = eligible_domains.size >= max(spread.min_domains, 1)
        least = pods[eligible_domains].min() if enough else 0
        itself = matches(spread.selector, pod.labels)
        return domains.to_nodes(pods + itself - least <= spread.max_skew)


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
