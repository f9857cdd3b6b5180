from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import InTree, Mask, all_nodes
from scoring.topology import beside, matching, rows_with, tally, term_keys, widened
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Cluster, Nodes
from tradewind.cluster.table import Rows


@dataclass(frozen=True)
class PodAffinity(InTree, PodFilter):
    """The node is in the same domain as pods that the pod's required affinity asks for, term by term.

    As in kube-scheduler only pods that match every term count. The first pod of a group that wants to be with
    itself finds none anywhere: it may go to any node that has all the topology labels.
    """

    name: ClassVar[str] = "pod_affinity"
    reason: ClassVar[str] = "node(s) didn't match pod affinity rules"
    resolvable: ClassVar[bool] = False

    widened_namespaces: bool = (
        False  # read namespace selectors as kube-scheduler 1.34 to 1.36 does: `widened`
    )

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.affinity:
            return all_nodes(len(nodes))
        cluster = nodes.cluster
        terms = [widened(term) if self.widened_namespaces else term for term in pod.affinity]
        keys = {term.topology_key for term in terms}
        rows = _wanted(cluster, terms)
        near = np.stack([beside(cluster.table, key, rows) for key in keys])
        if not near.any() and _wants_itself(cluster, pod, terms):
            near = np.stack([cluster.table.domains(key).members for key in keys])
        return near.all(axis=0).take(nodes.rows)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        """By both readings of a namespace selector: who is the first by one need not be by the other."""
        cluster = nodes.cluster
        followers: dict[tuple[PodTerm, ...], set[int]] = defaultdict(set)
        for index in sorted(waiting.subject):
            terms = waiting.pods[index].affinity
            if terms:
                for reading in dict.fromkeys((terms, tuple(widened(term) for term in terms))):
                    followers[reading].add(index)
        for terms, bearers in followers.items():
            placed = _matching_all(cluster, terms)
            domains = [cluster.table.domains(key) for key in sorted({term.topology_key for term in terms})]
            relations.attract(
                [each.codes for each in domains],
                [tally(cluster, list(placed), each.codes, len(each.values)) for each in domains],
                followers=bearers,
                targets=frozenset.intersection(*(waiting.table.selected(cluster, term) for term in terms)),
            )

    def label_keys(self, pods: Sequence[Pod], cluster: Cluster) -> Iterable[str]:  # noqa: ARG002  of the pods alone
        return term_keys(term for pod in pods for term in pod.affinity)


def _wanted(cluster: Cluster, terms: Sequence[PodTerm]) -> Rows:
    """The nodes that have pods which match all terms."""
    return rows_with(cluster, _matching_all(cluster, terms))


def _matching_all(cluster: Cluster, terms: Sequence[PodTerm]) -> set[PodGroup]:
    first, *others = (matching(cluster, term) for term in terms)
    return set(first).intersection(*others)


def _wants_itself(cluster: Cluster, pod: Pod, terms: Sequence[PodTerm]) -> bool:
    namespace_labels = cluster.namespace_labels(pod.namespace)
    return all(term.matches(pod.namespace, pod.labels, namespace_labels) for term in terms)
