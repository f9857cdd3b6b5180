"""Whether a controller has yet to create pods of a workload that waits.

A ReplicaSet creates 1, 2, 4 and more pods at a time, and on a busy control plane the pauses between them are
long. What is planned and bound before the rest is there may be in its way.
"""

import time
from collections import Counter
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from tradewind.cluster.cache import Cache
from tradewind.controller.wanted_pods import REPLICA_SET, WantedPods
from tradewind.planner import gate

# So many times as long as for its next pod, a workload is waited for in all, while any of its pods is held.
_LONGEST = 2.0
_MAX_READS = 20  # in one look: with more workloads than that, pods of the others come meanwhile


class _Creation(NamedTuple):
    """Of the pods of one ReplicaSet."""

    wanted: int
    created: int
    at: float  # when so many were seen first
    since: float  # when any was


class OwedReplicas:
    def __init__(self, cache: Cache, reader: WantedPods, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._reader = reader
        self._clock = clock
        self._creations: dict[str, _Creation] = {}  # of ReplicaSets with pods that are held

    def owed(self, patience: float) -> bool:
        """Whether pods are to come, and one of the same workload came within so many seconds.

        What a quota refuses never comes. A workload to which one pod after the other is added, and never the
        last, does not keep batch after batch open.
        """
        now = self._clock()
        holding = self._holding()
        created = self._created(holding)
        known, self._creations = self._creations, {}
        reads = 0
        for controller, name in holding.items():
            before = known.get(controller)
            if before is None or created[controller] > before.wanted:
                reads += 1
                if reads <= _MAX_READS:
                    since = before.since if before else now
                    self._creations[controller] = _Creation(
                        self._wanted(*name), created[controller], now, since
                    )
            else:
                same = created[controller] == before.created
                self._creations[controller] = (
                    before if same else before._replace(created=created[controller], at=now)
                )
        return any(
            each.created < each.wanted and now - each.at < patience and now - each.since < _LONGEST * patience
            for each in self._creations.values()
        )

    def _holding(self) -> Mapping[str, tuple[str, str]]:
        """Namespaces and names of the ReplicaSets with pods that are held."""
        return {
            pod.controller: (pod.namespace, pod.owner.name)
            for pod in self._cache.waiting()
            if pod.owner is not None and pod.owner.kind == REPLICA_SET and gate.held(pod)
        }

    def _created(self, holding: Container[str]) -> Counter[str]:
        """Pods of each that are there."""
        return Counter(
            pod.controller
            for pod in (self._cache.all_pods() if holding else ())
            if pod.controller in holding and not (pod.finished or pod.deleting)
        )

    def _wanted(self, namespace: str, name: str) -> int:
        """Nothing is waited for where it cannot be read: with old permissions, or when it is gone."""
        found = self._reader.of(REPLICA_SET, namespace, name)
        return found or 0
