"""Which pods are where, by domains of a node label; over groups of equal pods, never pod by pod."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from scoring.rules import Mask
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches
from tradewind.cluster.snapshot import Amounts, Cluster
from tradewind.cluster.table import LabelTable, NodeTable, Rows, domains_of


@dataclass(frozen=True, kw_only=True, eq=False)
class SpreadDomains:
    """The D domains of one topology spread constraint, as one pod sees them."""

    codes: Rows  # (N,) the domain of each node, -1 outside of all
    counting: Rows  # the same, -1 also where pods are not counted
    existing: Amounts  # (D,) counted pods
    eligible: Mask  # (D,) domains among which the emptiest is looked for
    enough: bool  # domains for minDomains: else the emptiest counts as empty
    itself: bool  # whether the pod counts when it looks at where it may go
    max_skew: int

    def headroom(self, pods: Amounts) -> Amounts:
        """(D,) how many pods each domain may have on top of `pods`."""
        emptiest = pods[self.eligible].min() if self.enough else 0
        return np.asarray(self.max_skew + emptiest - pods)


def matching(cluster: Cluster, term: PodTerm) -> list[PodGroup]:
    """The placed pods that the term speaks of."""
    # A selector of namespaces may let in any of them.
    named = term.namespaces if term.namespace_selector is None else None
    return [
        group
        for group in present(cluster, cluster.placed.group_index.candidates(term.selector, named))
        if term.matches(group.namespace, dict(group.labels), cluster.namespace_labels(group.namespace))
    ]


class PodTable(LabelTable):
    """Pods, wherever they may go, by their labels and namespaces: a term is read once for all of them."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        super().__init__([pod.labels for pod in pods])
        self._namespaces = domains_of(pod.namespace for pod in pods)

    def selected(self, cluster: Cluster, term: PodTerm) -> frozenset[int]:
        """Which of the pods the term speaks of."""
        if term.selector is None:
            return frozenset()
        accepted = [
            name in term.namespaces or matches(term.namespace_selector, cluster.namespace_labels(name))
            for name in self._namespaces.values
        ]
        mask = self.satisfying(term.selector) & self._namespaces.to_nodes(accepted)
        return frozenset(np.flatnonzero(mask).tolist())


def term_keys(terms: Iterable[PodTerm]) -> set[str]:
    """The labels of pods that the terms look at."""
    selectors = {term.selector for term in terms}
    return {each.key for selector in selectors for each in selector or ()}


def widened(term: PodTerm) -> PodTerm:
    """The term as kube-scheduler 1.34 to 1.36 reads it in a pod that waits (kubernetes #141526).

    A selector of namespaces that accepts one without labels, such as NotIn or DoesNotExist, accepts all.
    """
    if term.namespace_selector is None or not matches(term.namespace_selector, {}):
        return term
    return msgspec.structs.replace(term, namespace_selector=())


def repelling(cluster: Cluster, pod: Pod) -> dict[str, list[PodGroup]]:
    """By topology key, the placed pods whose own anti-affinity forbids the pod their domain."""
    found: dict[str, list[PodGroup]] = {}
    namespace_labels = cluster.namespace_labels(pod.namespace)
    for term, groups in cluster.placed.group_index.repelling(pod.labels):
        if term.matches(pod.namespace, pod.labels, namespace_labels):
            found.setdefault(term.topology_key, []).extend(present(cluster, groups))
    return found


def present(cluster: Cluster, groups: Iterable[PodGroup]) -> list[PodGroup]:
    """Those of which this snapshot has pods."""
    placed = cluster.placed.groups
    return [group for group in groups if group in placed]


def rows_with(cluster: Cluster, groups: Iterable[PodGroup]) -> Rows:
    """The nodes that have pods of any of these groups."""
    names = set().union(*(cluster.placed.groups[group] for group in groups))
    return cluster.table.rows(names)


def beside(table: NodeTable, key: str, rows: Rows) -> Mask:
    """(N,) nodes that share a domain of the label `key` with one of these rows."""
    domains = table.domains(key)
    there = np.zeros(len(domains.values) + 1, np.bool_)
    there[domains.codes[rows]] = True
    return domains.to_nodes(there[:-1])


def tally(cluster: Cluster, groups: Sequence[PodGroup], codes: Rows, count: int) -> Amounts:
    """(count,) how many pods of these groups the nodes of each code have; a code of -1 is left out."""
    totals = np.zeros(count + 1, np.int64)
    for group in groups:
        rows, pods = cluster.counts(group)
        np.add.at(totals, codes[rows], pods)
    return totals[:-1]
