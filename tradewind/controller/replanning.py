"""Pods on their way to a node are planned once more, where they and those that came since gain by that.

Those whose orders nobody has claimed for a plan that costs less: a burst that comes in pieces is placed as
well as one that comes at once. Those that are ungated already only where others have no place.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from scoring.filters.resources import Resources
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.controller.orders import Orders, Round, pinned
from tradewind.controller.promises import Promises
from tradewind.controller.tries import Tries
from tradewind.planner import selection
from tradewind.planner.planner import PlanResult

# How many pods are planned together once more: fewer are written in the time that it takes.
_FEWEST, TOGETHER = 200, 1000
# For so long after they were created.
_TOGETHER_SECONDS = 5.0
# And while the newcomers are at least this part of those that they hold up.
_NEWCOMERS = 0.25

_RESOURCES = Resources()

_log = logging.getLogger(__name__)


def _nothing(_: Sequence[Pod]) -> None:
    pass


class Solved(NamedTuple):
    this: Round  # that it was made for
    result: PlanResult
    moving: int  # pods in flight besides those it places


class Solve(Protocol):
    def __call__(self, this: Round, short: Callable[[Sequence[Pod]], None], /, *, patient: bool) -> Solved:
        """`short` is called with pods that the greedy plan leaves out; `patient` takes time for them."""


class Replanning:
    def __init__(
        self,
        cache: Cache,
        promises: Promises,
        solve: Solve,
        tries: Tries,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._promises = promises
        self._solve = solve
        self._clock = clock
        self._tries = tries

    def fail(self, orders: Orders) -> None:
        """Pods on their way could not be sent elsewhere for these."""
        pods, now = [order.pod for wave in orders.waves for order in wave], self._clock()
        waited = {pod.uid: selection.waited_seconds(pod, now) for pod in pods}
        self._tries.fail(pods, waited, self._tries.now())

    def best(self, this: Round) -> Solved:
        return self._together(this) or self._placing_most(this)

    def _together(self, this: Round) -> Solved | None:
        """A plan of the solvers with the pods whose orders nobody has claimed, if it has a place for all.

        Until it is made nothing is claimed, so that it may send each of them anywhere.
        """
        if this.hurried or self._promises.suspended or not self._unclaimed(this):
            return None
        self._promises.suspend()
        again = self._unclaimed(this)
        if again:
            solved = self._solve(_with(this, again), _nothing, patient=False)
            if solved.result.plan.engine != "greedy" and not solved.result.plan.unplaced:
                return solved
        self._promises.resume()
        return None

    def _unclaimed(self, this: Round) -> list[Pod]:
        """Not of gangs, as some of one may be written; none where planning them again is not worth it."""
        again = [
            pod
            for pod in self._promises.unclaimed().values()
            if not pod.gang and selection.waited_seconds(pod, this.now) < _TOGETHER_SECONDS
        ]
        together, most = len(again) + len(this.chosen), min(TOGETHER, this.settings.batch.max_pods)
        worth = _FEWEST <= together <= most and len(this.chosen) >= _NEWCOMERS * len(again)
        return again if worth else []

    def _placing_most(self, this: Round) -> Solved:
        """The plan; or one with pods on their way to a node among those to choose, if that places more.

        Nothing more is written as soon as it may come to that: what is bound is in the way for good.
        """
        started = self._tries.now()
        worth: list[Pod] = []

        def short(left: Sequence[Pod]) -> None:
            worth.extend(self._tries.worth(left, this.waited))
            if worth:
                self._promises.suspend()

        loose = bool(this.in_flight)
        first = self._solve(this, short, patient=not loose)
        fitting = self._fitting(first, worth)
        if not fitting:
            return first
        found = self._with_those_in_flight(this, first, loose=loose)
        unplaced = found.result.plan.unplaced
        self._tries.fail([pod for pod in fitting if str(pod) in unplaced], this.waited, started)
        return found

    def _fitting(self, first: Solved, worth: Collection[Pod]) -> list[Pod]:
        """Those without a place that a node is large enough for, but for the pods in flight."""
        unplaced = [pod for pod in worth if str(pod) in first.result.plan.unplaced]
        nodes = self._cache.snapshot().nodes
        return [pod for pod in unplaced if _RESOURCES.feasible(pod, nodes).any()]

    def _with_those_in_flight(self, this: Round, first: Solved, *, loose: bool) -> Solved:
        """`first` where that is no better; as `loose` it took no time for pods without a place."""
        joint = self.joint(this)
        if joint is None:
            return self._solve(this, _nothing, patient=True) if loose else first
        second = self._solve(joint, _nothing, patient=True)
        if places_more(first, second):
            return second
        _log.info(
            "%d pods have no place, and a plan for them and %d in flight, by %s, would leave %d: not taken",
            len(first.result.plan.unplaced),
            len(joint.chosen) - len(this.chosen),
            second.result.plan.engine,
            len(second.result.plan.unplaced),
        )
        return first

    def joint(self, this: Round) -> Round | None:
        """With the pods on their way that can still be sent elsewhere, if there are any."""
        settings, now = this.settings, self._clock()
        unbound = self._cache.waiting()
        in_flight = self._promises.in_flight(unbound, now)
        flying = {
            pod.uid: pod
            for pod in unbound
            if pod.uid in in_flight
            and pod.uid not in self._promises
            and pod.nominated in {"", in_flight[pod.uid].node_name}
        }
        unwritten = self._promises.unclaimed().values()
        again = [*unwritten, *flying.values()]
        if not again or len(again) + len(this.chosen) > settings.batch.max_pods:
            return None
        nodes = {uid: in_flight[uid].node_name for uid in flying}
        return _with(replace(this, in_flight=in_flight, flying=nodes), again)


def _with(this: Round, again: Collection[Pod]) -> Round:
    """The round with these pods among the chosen, and no longer in flight."""
    waited = {pod.uid: selection.waited_seconds(pod, this.now) for pod in again}
    return replace(
        this,
        # Of equal pods the first have a place.
        chosen=[*(pinned(pod, this.moves) for pod in again), *this.chosen],
        waited={**this.waited, **waited},
        in_flight={uid: pod for uid, pod in this.in_flight.items() if uid not in waited},
    )


def places_more(first: Solved, second: Solved) -> bool:
    """Whether all that were on their way have a place, more of the others do, and nobody new goes first.

    By priority: more pods of a higher one first. What was ungated is scheduled at once, wherever it is sent.
    """
    chosen, joint, plan = first.this.chosen, second.this, second.result.plan
    wave_of = {each.uid: each.wave for each in plan.placements}
    start = min(wave_of.values(), default=0)
    node_of = {each.uid: each.node for each in plan.placements}
    return (
        all(str(pod) not in plan.unplaced for pod in joint.chosen[: -len(chosen)])
        and all(wave_of[uid] == start for uid, node in joint.flying.items() if node_of.get(uid, node) != node)
        and _by_priority(first, chosen) < _by_priority(second, chosen)
    )


def _by_priority(solved: Solved, pods: Collection[Pod]) -> list[int]:
    """How many have a place: of the highest priority, of the next, ..."""
    unplaced = solved.result.plan.unplaced
    placed = Counter(pod.priority for pod in pods if str(pod) not in unplaced)
    return [placed[priority] for priority in sorted({pod.priority for pod in pods}, reverse=True)]
