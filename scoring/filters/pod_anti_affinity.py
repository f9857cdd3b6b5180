from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import InTree, Mask, all_nodes
from scoring.topology import beside, matching, repelling, rows_with, term_keys, widened
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Cluster, Nodes


@dataclass(frozen=True)
class PodAntiAffinity(InTree, PodFilter):
    """The node shares no domain with a pod that the pod's required anti-affinity excludes, nor with one whose
    own anti-affinity excludes the pod.
    """

    name: ClassVar[str] = "pod_anti_affinity"
    reason: ClassVar[str] = "node(s) didn't match pod anti-affinity rules"
    resolvable: ClassVar[bool] = True

    widened_namespaces: bool = False  # as for PodAffinity

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        cluster = nodes.cluster
        near = self.opponents(pod, cluster)
        if not near:
            return all_nodes(len(nodes))
        excluded = np.zeros(len(cluster.table), np.bool_)
        for key, groups in near:
            excluded |= beside(cluster.table, key, rows_with(cluster, groups))
        return ~excluded.take(nodes.rows)

    def opponents(self, pod: Pod, cluster: Cluster) -> list[tuple[str, list[PodGroup]]]:
        """By topology key, the placed pods with which it shares no domain."""
        terms = [widened(term) if self.widened_namespaces else term for term in pod.anti_affinity]
        avoided = [(term.topology_key, matching(cluster, term)) for term in terms]
        return [(key, groups) for key, groups in (*avoided, *repelling(cluster, pod).items()) if groups]

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        """What is near stays near; and a plan holds by either reading of a namespace selector."""
        return replace(self, widened_namespaces=True).feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        bearers = defaultdict[PodTerm, set[int]](set)
        for index in sorted(waiting.subject):
            for term in waiting.pods[index].anti_affinity:
                bearers[widened(term)].add(index)  # who keeps away from more holds by either reading
        # Terms that speak of the same pods are one relation, however each of them is written.
        excluding = defaultdict[tuple[str, frozenset[int]], set[int]](set)
        for term, left in bearers.items():
            excluding[term.topology_key, waiting.table.selected(nodes.cluster, term)] |= left
        for (key, right), left in excluding.items():
            if right:
                relations.exclude(nodes.cluster.table.domains(key).codes, left, right)

    def label_keys(self, pods: Sequence[Pod], cluster: Cluster) -> Iterable[str]:
        terms = {term for pod in pods for term in pod.anti_affinity}
        return term_keys(terms.union(*(group.anti_affinity for group in cluster.placed.groups)))
