"""Which workloads are still growing: the standing plan has room for the pods that they are to get.

Only ReplicaSets and Jobs of which a pod came lately are asked: those that are complete, and those whose pods
a quota or a webhook has refused for long, are left alone. One that grows without any new pod is not seen.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from tradewind.cluster.objects import Pod
from tradewind.controller.wanted_pods import JOB, REPLICA_SET, WantedPods

_KINDS = frozenset({REPLICA_SET, JOB})
# After its newest pod a workload counts as growing for so long: what came no more by then is refused.
_PATIENCE_SECONDS = 300.0
_MAX_READS = 20  # in one look: the others have their turn with the next


class _Reading(NamedTuple):
    wanted: int
    there: int  # pods at that time
    look: int  # the number of the look


class Growing:
    """For one thread."""

    def __init__(self, reader: WantedPods, clock: Callable[[], float] = time.time) -> None:
        self._reader = reader
        self._clock = clock
        self._readings: dict[str, _Reading] = {}  # by controller
        self._look = 0

    def wanted(self, pods: Sequence[Pod]) -> Mapping[str, int]:
        """Controllers that seem to owe pods, to how many they want; one look."""
        self._look += 1
        young = self._young(pods)
        there = Counter(pod.controller for pod in pods if pod.controller in young and _counts(pod))
        self._readings = {name: each for name, each in self._readings.items() if name in young}
        due = [name for name in young if self._due(name, there[name])]
        for name in sorted(due, key=self._read_at)[:_MAX_READS]:
            self._readings[name] = _Reading(self._read(young[name]), there[name], self._look)
        return {name: each.wanted for name, each in self._readings.items() if each.wanted > there[name]}

    def _young(self, pods: Sequence[Pod]) -> dict[str, Pod]:
        """A pod of each controller that got one lately."""
        since = datetime.fromtimestamp(self._clock() - _PATIENCE_SECONDS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            pod.controller: pod
            for pod in pods
            if pod.created >= since and pod.owner is not None and pod.owner.kind in _KINDS and _counts(pod)
        }

    def _due(self, name: str, there: int) -> bool:
        """Who owes is asked at each look: nothing else tells that it was scaled down."""
        known = self._readings.get(name)
        return known is None or known.there != there or known.wanted > there

    def _read_at(self, name: str) -> int:
        """Who was never asked comes first."""
        known = self._readings.get(name)
        return 0 if known is None else known.look

    def _read(self, pod: Pod) -> int:
        owner = pod.owner
        found = owner and self._reader.of(owner.kind, pod.namespace, owner.name)
        return found or 0


def _counts(pod: Pod) -> bool:
    return not (pod.finished or pod.deleting)
