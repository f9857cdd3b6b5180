"""Which pods without a place are worth a longer search, for which the other pods of a batch wait."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from tradewind.cluster.objects import Pod

# A pod for which a search has failed is worth another when it has waited this many times as long.
_LONGER = 2.0
# After a failed search the pods of its namespaces are worth none for as long as it took. After each further
# one that follows soon it is twice as long, up to this many times: new pods all the time cost the others no
# more than a sixteenth of it.
_MAX_REST = 15.0


class _Rest(NamedTuple):
    """Of one namespace; by time.monotonic."""

    until: float
    times: float  # as long as the search took
    forgotten: float  # a search that begins by then follows soon


class Tries:
    """For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waited: dict[str, float] = {}  # by UID, how long the pod had waited when a search failed
        self._rests: dict[str, _Rest] = {}  # by namespace

    def worth(self, pods: Iterable[Pod], waited: Mapping[str, float]) -> list[Pod]:
        now = self._clock()
        return [
            pod
            for pod in pods
            if waited[pod.uid] >= _LONGER * self._waited.get(pod.uid, 0.0) and not self._rests_at(now, pod)
        ]

    def now(self) -> float:
        return self._clock()

    def fail(self, pods: Collection[Pod], waited: Mapping[str, float], since: float) -> None:
        """A search that began then has found no place for them."""
        now = self._clock()
        seconds = now - since
        self._waited |= {pod.uid: waited[pod.uid] + seconds for pod in pods}
        self._rests = {name: each for name, each in self._rests.items() if since < each.forgotten}
        for namespace in {pod.namespace for pod in pods}:
            known = self._rests.get(namespace)
            times = min(2 * known.times + 1, _MAX_REST) if known else 1.0
            rest = times * seconds
            self._rests[namespace] = _Rest(now + rest, times, now + 2 * rest)

    def keep(self, uids: Collection[str]) -> None:
        """Forget all other pods."""
        self._waited = {uid: waited for uid, waited in self._waited.items() if uid in uids}

    def _rests_at(self, now: float, pod: Pod) -> bool:
        rest = self._rests.get(pod.namespace)
        return rest is not None and now < rest.until
