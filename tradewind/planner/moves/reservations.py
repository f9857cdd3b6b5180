"""Room on the targets of moves in flight, as every replica of the extender sees it.

A pod that is about to be moved says so in an annotation, before the first eviction. Its room counts as taken
for all but its own workload, whose next pod it is kept for, until that pod is there; a while longer than the
pod itself is there, because the replacement may come only after it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tradewind.cluster.objects import Pod
from tradewind.planner import plan_annotation
from tradewind.planner.moves.drain import reserved_for

# From the end of a pod to the plan of its replacement, which kube-scheduler then counts by its nomination.
_AFTER_SECONDS = 10.0
# For a node of 110 pods, twice `placeSeconds` each: room is kept no longer, whatever the annotation says.
_MAX_SECONDS = 7200.0


class Reservations:
    def __init__(
        self,
        moving: Callable[[], Mapping[str, Pod]],
        known: Callable[[Iterable[str]], Sequence[Pod]],
        pods_on: Callable[[str], Sequence[Pod]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`moving`: pods with the annotation, by UID; `known`: those of these UIDs that there are."""
        self._moving = moving
        self._known = known
        self._pods_on = pods_on
        self._clock = clock
        self._marked: Mapping[str, Pod] = {}  # with the annotation, whoever wrote it
        self._seen: Mapping[str, Pod] = {}  # with one that may be the planner's
        self._gone: dict[str, tuple[Pod, float]] = {}  # by UID, with when it is forgotten
        self._before: dict[str, frozenset[str]] = {}  # by UID, who of its kin was on the target already
        self._came: dict[str, str] = {}  # by UID, its replacement, once that was seen on the target

    def against(self, pod: Pod) -> list[Pod]:
        """As pods on the targets, of all that is kept for others than this one."""
        now = self._clock()
        self._follow(self._moving(), now)
        self._gone = {uid: each for uid, each in self._gone.items() if each[1] > now}
        found = []
        for each in (*(each for each, _ in self._gone.values()), *self._seen.values()):
            place = plan_annotation.read_reservation(each)
            if place is None or not place.fresh(now, _MAX_SECONDS) or self._replaced(each):
                continue
            if not pod.workload or each.workload != pod.workload:
                found.append(reserved_for(each, place.node))
        return found

    def _follow(self, marked: Mapping[str, Pod], now: float) -> None:
        if marked is self._marked:
            return
        self._marked = marked
        moving = {uid: pod for uid, pod in marked.items() if plan_annotation.read_reservation(pod)}
        unmarked = self._seen.keys() - moving.keys()
        stayed = {each.uid for each in self._known(unmarked)}
        self._gone |= {uid: (self._seen[uid], now + _AFTER_SECONDS) for uid in unmarked - stayed}
        self._seen = moving
        self._before = {
            uid: self._before[uid] if uid in self._before else frozenset(self._kin(pod))
            for uid, pod in [*moving.items(), *((uid, pod) for uid, (pod, _) in self._gone.items())]
        }
        self._came = {uid: came for uid, came in self._came.items() if uid in self._before}

    def _replaced(self, pod: Pod) -> bool:
        """Whether its replacement is, or was, on the target; each ends one reservation, and for good."""
        if pod.uid not in self._came:
            others = self._before[pod.uid] | set(self._came.values())
            came = next((uid for uid in self._kin(pod) if uid not in others), None)
            if came is None:
                return False
            self._came[pod.uid] = came
        return True

    def _kin(self, pod: Pod) -> Iterator[str]:
        """UIDs of the pods of its controller that are on the target."""
        place = plan_annotation.read_reservation(pod)
        for each in self._pods_on(place.node) if place and pod.owner else ():
            if each.controller == pod.controller:
                yield each.uid
