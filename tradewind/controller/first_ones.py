"""The first of pods that want to be with each other: where it is bound, the others have to go.

A controller says how many are to come, see `owed_replicas`. Of pods without one nobody knows.
"""

import time

from tradewind.cluster.cache import Cache
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.objects import Pod
from tradewind.planner import selection

# In which another of them may come; creation times are in whole seconds.
_SECONDS = 3.0


class FirstOnes:
    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def ready(self, pod: Pod) -> bool:
        """Whether another is there, or had its time to come."""
        if pod.owner is not None or selection.waited_seconds(pod, time.time()) > _SECONDS:
            return True
        return not any(self._alone(pod, term) for term in pod.affinity if _wants(term, pod))

    def _alone(self, pod: Pod, term: PodTerm) -> bool:
        """Those that wait are looked at first: mostly another is among them, and they are few."""
        return not any(
            other.uid != pod.uid and _wants(term, other)
            for pods in (self._cache.waiting, self._cache.all_pods)
            for other in pods()
        )


def _wants(term: PodTerm, other: Pod) -> bool:
    """Of namespaces that are named, as by default the pod's own."""
    return not other.finished and term.matches(other.namespace, other.labels, {})
