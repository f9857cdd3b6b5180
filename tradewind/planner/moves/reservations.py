"""Room on the targets of moves in flight, as every replica of the extender sees it.

A pod that is about to be moved says so in an annotation, before the first eviction. Its room counts as taken
for all but its own workload, whose next pod it is kept for; a while longer than the pod itself is there,
because the replacement may come only after it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from tradewind.cluster.objects import Pod
from tradewind.planner import plan_annotation
from tradewind.planner.moves.drain import reserved_for

# From the end of a pod to the plan of its replacement, which kube-scheduler then counts by its nomination.
_AFTER_SECONDS = 10.0


class Reservations:
    def __init__(
        self,
        moving: Callable[[], Mapping[str, Pod]],
        known: Callable[[Iterable[str]], Sequence[Pod]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`moving`: pods with the annotation, by UID; `known`: those of these UIDs that there are."""
        self._moving = moving
        self._known = known
        self._clock = clock
        self._seen: Mapping[str, Pod] = {}
        self._gone: dict[str, tuple[Pod, float]] = {}  # by UID, with when it is forgotten

    def __bool__(self) -> bool:
        moving = self._moving()
        if moving is not self._seen:
            until = self._clock() + _AFTER_SECONDS
            unmarked = self._seen.keys() - moving.keys()
            stayed = {each.uid for each in self._known(unmarked)}
            self._gone |= {uid: (self._seen[uid], until) for uid in unmarked - stayed}
            self._seen = moving
        return bool(self._seen or self._gone)

    def against(self, pod: Pod) -> list[Pod]:
        """As pods on the targets, of all that is kept for others than this one."""
        now = self._clock()
        self._gone = {uid: each for uid, each in self._gone.items() if each[1] > now}
        kept = [*self._seen.values(), *(each for each, _ in self._gone.values())]
        found = []
        for each in kept:
            place = plan_annotation.read(each, plan_annotation.MOVE)
            if place is not None and place.fresh(now) and (not pod.workload or each.workload != pod.workload):
                found.append(reserved_for(each, place.node))
        return found
