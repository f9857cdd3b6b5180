"""Whether the pods that came lately crowd: then what is bound early is in the way of what comes late."""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import NamedTuple

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.settings import BatchSettings, PlannerSettings

# Of what is free, in any resource. Pods that are tied to each other have fewer places than there is room.
_SHARE, _TIED_SHARE = 0.5, 0.05
# Of the pods, so that they count as tied.
_TIED = 0.25


class _Seen(NamedTuple):
    pod: Pod
    at: float


class Crowding:
    """Looks at pods that wait, and remembers those that did."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._clock = clock
        self._seen: dict[str, _Seen] = {}  # by UID
        self._since = math.inf  # they crowd

    def crowded(self, settings: PlannerSettings) -> bool:
        """Whether pods are worth waiting for, which they are for as long as a pod may be held at most.

        More of them than one plan takes are not: they cannot be planned together.
        """
        found = self._found(settings.batch)
        self._since = min(self._since, self._clock()) if found else math.inf
        return found and self._clock() - self._since <= settings.hold_seconds

    def paused(self) -> None:
        """No more of them came for a while: whoever comes next is another crowd."""
        self._since = math.inf

    def _found(self, batch: BatchSettings) -> bool:
        """Whether pods that came within the time of a batch ask for a large part of what is free.

        Of pods that are tied to each other those count that have been bound since: the rest of them may be
        on its way. What has waited for longer lacks a place, not company.
        """
        came = self._came_lately(batch.seconds)
        bound = [pod for pod, waits in came if not waits]
        waiting = [pod for pod, waits in came if waits]
        every = [*bound, *waiting]
        tied = sum(map(_is_tied, every)) >= _TIED * len(every)
        nodes = self._cache.snapshot().nodes
        crowd = len(every) > 1 and 0 < len(waiting) <= batch.max_pods and len(nodes) > 0
        return crowd and (
            _share(waiting, (), nodes) >= _SHARE or (tied and _share(every, bound, nodes) >= _TIED_SHARE)
        )

    def _came_lately(self, seconds: float) -> list[tuple[Pod, bool]]:
        """With whether they still wait."""
        now = self._clock()
        waiting = {pod.uid: pod for pod in self._cache.waiting()}
        self._seen = {uid: _Seen(pod, now) for uid, pod in waiting.items()} | self._seen
        # Those that wait are kept, so that they do not seem to come again.
        self._seen = {
            uid: seen for uid, seen in self._seen.items() if uid in waiting or now - seen.at <= seconds
        }
        return [(seen.pod, uid in waiting) for uid, seen in self._seen.items() if now - seen.at <= seconds]


def _is_tied(pod: Pod) -> bool:
    return bool(pod.affinity or pod.anti_affinity or pod.spreads)


def _share(pods: Collection[Pod], bound: Collection[Pod], nodes: Nodes) -> float:
    """The largest part of any resource that they ask for: of what is free, or was before some were bound."""
    asked, taken = _requested(pods), _requested(bound)
    free = nodes.free.clip(0).sum(axis=1).tolist()
    rows = nodes.resource_rows
    return max((asked[each] / max(free[row] + taken[each], 1) for each, row in rows.items()), default=0.0)


def _requested(pods: Collection[Pod]) -> Counter[str]:
    total = Counter[str]()
    for pod in pods:
        total.update(pod.requests)
    return total
