"""What to do with the pods that wait: one look at the cluster, one plan.

All that is known of earlier plans is on the pods themselves, so that any replica can go on where another
stopped. Only what is being written at this moment is remembered here.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.settings import Settings
from tradewind.controller.backoff import Backoff
from tradewind.controller.batching import Newcomers
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.orders import Orders, Round, orders_of, overdue, pinned
from tradewind.controller.promises import Promises
from tradewind.controller.replanning import TOGETHER, Replanning, Solved
from tradewind.controller.tries import Tries
from tradewind.planner import gate, selection
from tradewind.planner.journal import Journal, note
from tradewind.planner.moves.drain import InFlight
from tradewind.planner.nodeless import nodeless
from tradewind.planner.planner import plan
from tradewind.planner.settings import PlannerSettings, PoolTemplate
from tradewind.planner.worker import Worker

# While plans are made faster than they are written, only batches of so many pods for each second of the
# solvers are given to them: the other pods wait for a millisecond a pod then.
_WORTH_SOLVING = 1000

# After which a pod is planned in any case.
_READY_SECONDS = 5.0
# Without a gain, so long a solve goes on: pods wait for it.
_IDLE_SECONDS = 0.1
# For each pod of the batch, so long the pods that come meanwhile wait for the end of a solve.
_WAIT_SECONDS_A_POD = 0.002

# Of these pods, and the seconds that each has waited: the UIDs of those that are not to be planned yet.
Incomplete = Callable[[Sequence[Pod], Mapping[str, float]], frozenset[str]]

_log = logging.getLogger(__name__)


class Planning:
    def __init__(
        self,
        cache: Cache,
        settings: Settings,
        worker: Worker | None,
        metrics: PlanMetrics,
        pools: Callable[[], Sequence[PoolTemplate]] | None = None,
        *,
        incomplete: Incomplete = lambda _pods, _waited: frozenset(),
        moves: Callable[[Sequence[Pod]], InFlight] = lambda _: InFlight(),
        promises: Promises | None = None,
        journal: Journal | None = None,
        clock: Callable[[], float] = time.time,
        passing: Callable[[], float] = time.monotonic,
    ) -> None:
        """`pools` are nodes that could be added, those of the settings if nobody knows of others.

        Pods that are `incomplete` are not planned for a moment: the size of their gang is being looked up, or
        the first of several waits for another.
        `moves` says of the pods that wait which of them replace what was moved, and where room is kept.
        `clock` is the API server's, by which pods are created.
        """
        self._journal = journal or Journal()
        self._incomplete = incomplete
        self._moves = moves
        self._cache = cache
        self._pools = pools or (lambda: settings.planner.pools)
        self._settings = settings
        self._worker = worker
        self._metrics = metrics
        self.promises = promises or Promises()
        self._unplaced: Mapping[str, tuple[Pod, str]] = {}
        self._clock = clock
        self._tries = Tries(passing)
        self._replanning = Replanning(cache, self.promises, self._solve, self._tries, clock)
        self._backoff = Backoff()  # of the solvers
        self._batched: dict[str, float] = {}  # UID to when the pod was last in a batch

    def decide(self, *, news: bool, release: Callable[[Orders], None] = lambda _: None) -> Orders:
        """Without news, only pods whose plan has run out or that should be held no longer are looked at.

        `release` takes orders for pods that no plan can place, before the others are planned.
        """
        settings, now, seen = self._settings.planner, self._clock(), self._cache.work()
        unbound = self._cache.waiting()
        held = [pod for pod in unbound if gate.held(pod)]
        self._metrics.held.set(len(held))
        if not settings.enabled or self._settings.shadow:
            return Orders(ungate=held)
        in_flight = self.promises.in_flight(unbound, now)
        grounded = [pod for pod in unbound if pod.uid not in in_flight]
        waiting = selection.waiting(grounded, settings.schedulers, now)
        waited = {pod.uid: selection.waited_seconds(pod, now) for pod in waiting}
        self._tries.keep(waited.keys())
        incomplete = self._incomplete(waiting, waited)
        waiting = [pod for pod in waiting if pod.uid not in incomplete or waited[pod.uid] > _READY_SECONDS]
        if not (news or any(pod.uid not in self._unplaced for pod in waiting)):
            late = overdue(waiting, waited, settings)
            ended = {pod.uid for pod in late}
            left = self._nodeless(pod for pod in waiting if pod.uid not in ended)
            return Orders(ungate=[*late, *left], overdue=late, nodeless=left, unplaced=self._unplaced)
        moves = self._moves(unbound)
        chosen = [pinned(pod, moves) for pod in self._choose(waiting, waited, settings, now)]
        if not chosen:
            self._unplaced = {}
            return Orders()
        return self._plan(
            Round(
                settings=settings,
                now=now,
                seen=seen,
                chosen=chosen,
                waited=waited,
                in_flight=in_flight,
                moves=moves,
                more=len(chosen) < len(waiting),
                hurried=self._loading
                or (self.behind and len(chosen) < _WORTH_SOLVING * settings.solve_seconds),
                release=release,
            )
        )

    def late(self) -> Orders:
        """Where planning fails: no pod is held for longer than promised."""
        settings, now = self._settings.planner, self._clock()
        held = [pod for pod in self._cache.waiting() if gate.held(pod)]
        late = overdue(held, {pod.uid: selection.waited_seconds(pod, now) for pod in held}, settings)
        return Orders(ungate=late, overdue=late)

    def abandon(self, orders: Orders) -> None:
        """Nothing of it is written, because pods on their way could not be sent elsewhere: plan anew."""
        self.promises.forget(orders.placed())
        self._replanning.fail(orders)
        self._cache.notify()

    @property
    def behind(self) -> bool:
        """Whether more is to be written than could be planned once more with those that come."""
        return len(self.promises.unclaimed()) > TOGETHER

    @property
    def _loading(self) -> bool:
        """It takes a second, on a busy machine many: a pod that has a place does not wait for that."""
        return self._worker is not None and not self._worker.loaded

    def _choose(
        self, waiting: Sequence[Pod], waited: Mapping[str, float], settings: PlannerSettings, now: float
    ) -> list[Pod]:
        """Who was in a batch, and found no place, is at the end of the queue for the next."""
        turns = {pod.uid: min(waited[pod.uid], now - self._batched.get(pod.uid, 0.0)) for pod in waiting}
        chosen = selection.choose(waiting, turns, settings.batch.max_pods, settings.tenant_share)
        self._batched = {uid: at for uid, at in self._batched.items() if uid in turns}
        self._batched |= dict.fromkeys((pod.uid for pod in chosen), now)
        return chosen

    def _plan(self, this: Round) -> Orders:
        started, newcomers = time.monotonic(), len(this.chosen)
        try:
            this, result, moving = self._replanning.best(this)
            orders = orders_of(result, this, self._nodeless)
            self.promises.make(orders.diverted, claimed=True)
            self.promises.make(order for wave in orders.waves for order in wave)
        finally:
            self.promises.resume()
        if not this.hurried:
            self._backoff.record(found=result.plan.engine != "greedy")
        seconds = time.monotonic() - started
        self._metrics.planned(result, seconds)
        self._journal.add(
            note(result, at=this.now, seconds=seconds, in_flight=moving),
            priced=not np.isnan(result.batch.snapshot.nodes.price).all(),
        )
        _log.info(
            "planned %d of %d pods in %d waves by %s in %.2f s; %d more are in flight%s%s",
            len(result.plan.placements),
            len(this.chosen),
            len(orders.waves),
            result.plan.engine,
            seconds,
            moving,
            f", {len(this.chosen) - newcomers} were planned before" if len(this.chosen) > newcomers else "",
            f", {len(orders.diverted)} are sent elsewhere" if orders.diverted else "",
        )
        if result.failure:
            _log.warning("the solvers failed, the plan is the best so far: %s", result.failure)
        self._unplaced = {} if this.more else orders.unplaced
        return orders

    def _solve(self, this: Round, short: Callable[[Sequence[Pod]], None], *, patient: bool) -> Solved:
        def patience(left: Sequence[Pod]) -> float:
            return this.settings.place_seconds if patient and self._tries.worth(left, this.waited) else 0.0

        snapshot, pods = self._cache.state()
        # Since they were chosen, some may have been bound.
        bound = [pod for pod in pods if pod.node_name]
        waiting = {pod.uid for pod in pods if not pod.node_name and pod.waiting}
        chosen = [pod for pod in this.chosen if pod.uid in waiting]
        moving = [pod for pod in this.in_flight.values() if pod.uid in waiting]
        settings = this.settings
        result = plan(
            snapshot.with_pods([*moving, *this.moves.taken]),
            [*bound, *moving, *this.moves.taken, *chosen],
            self._settings.policy_of,
            self._worker,
            settings.solve_seconds,
            patience=patience,
            idle=_IDLE_SECONDS,
            enough=Newcomers(self._cache, this.seen, _WAIT_SECONDS_A_POD * len(chosen)).waited,
            short=short,
            impossible=lambda pods: self._release(pods, this),
            skip_solver_if_complete=this.hurried or self._backoff.skips(),
            favour=selection.favour(chosen, this.waited, settings.hold_seconds, settings.tenant_share),
            expires_at=float(round(this.now + settings.plan_seconds)),
            pools=self._pools(),
            rent=settings.rents,
            emptied=this.moves.emptied,
            engine=settings.engine,
        )
        return Solved(this, result, len(moving))

    def _release(self, pods: Sequence[Pod], this: Round) -> None:
        found = self._nodeless(pods)
        if found:
            this.release(Orders(ungate=found, nodeless=found))

    def _nodeless(self, pods: Iterable[Pod]) -> list[Pod]:
        """Those that are held by now, and pinned to no node."""
        newest = self._cache.pods(pod.uid for pod in pods)
        return nodeless(filter(gate.held, newest), self._cache.snapshot(), self._settings.policy_of)
