"""The first of pods that want to be with each other: where it is bound, the others have to go.

A controller says how many are to come, see `owed_replicas`. Of pods without one nobody knows.
"""

from collections.abc import Mapping, Sequence

from scoring.topology import PodTable, matching
from tradewind.cluster.cache import Cache
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.objects import Pod

# In which another of them may come; creation times are in whole seconds.
_SECONDS = 3.0


class FirstOnes:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def waiting(self, pods: Sequence[Pod], waited: Mapping[str, float]) -> frozenset[str]:
        """The UIDs of those of which no other is there yet; by UID, how many seconds each has waited."""
        young = [pod for pod in pods if pod.affinity and pod.owner is None and waited[pod.uid] <= _SECONDS]
        if not young:
            return frozenset()
        others = _Others(self._cache)
        return frozenset(
            pod.uid for pod in young if any(others.are_missing(term, pod) for term in pod.affinity)
        )


class _Others:
    """All pods at one moment, in which each term is looked up once."""

    def __init__(self, cache: Cache) -> None:
        self._cluster = cache.snapshot().nodes.cluster
        self._unbound = cache.waiting()
        self._table = PodTable(self._unbound)
        self._found: dict[PodTerm, tuple[frozenset[str], bool]] = {}

    def are_missing(self, term: PodTerm, pod: Pod) -> bool:
        """Whether the term speaks of the pod itself, and of no other."""
        labels = self._cluster.namespace_labels(pod.namespace)
        if not term.matches(pod.namespace, pod.labels, labels):
            return False
        if term not in self._found:
            unbound = self._table.selected(self._cluster, term)
            self._found[term] = (
                frozenset(self._unbound[index].uid for index in unbound),
                bool(matching(self._cluster, term)),
            )
        waiting, are_placed = self._found[term]
        return not (are_placed or waiting - {pod.uid})
