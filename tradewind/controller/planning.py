"""What to do with the pods that wait: one look at the cluster, one plan.

All that is known of earlier plans is on the pods themselves, so that any replica can go on where another
stopped. Only what is being written at this moment is remembered here.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from tradewind.cluster.cache import Cache
from tradewind.cluster.hints import NODE
from tradewind.cluster.objects import Pod
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.planner import gate, plan_annotation, selection
from tradewind.planner.journal import Journal, note
from tradewind.planner.moves.drain import InFlight
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.planner import PlanResult, plan
from tradewind.planner.settings import PlannerSettings, PoolTemplate
from tradewind.planner.worker import Worker

# After so many, one plan in 16 is given to the solvers.
_MAX_DOUBLINGS = 4
# While pods come faster than they are planned, only batches of so many pods for each second of the solvers
# are given to them: the other pods wait for a millisecond a pod then.
_WORTH_SOLVING = 1000

# After which a pod is planned in any case.
_READY_SECONDS = 5.0
# Without a gain, so long a solve goes on: pods wait for it.
_IDLE_SECONDS = 0.15

_log = logging.getLogger(__name__)


class Order(NamedTuple):
    """One pod is to go to one node."""

    pod: Pod
    plan: PlanAnnotation


@dataclass(frozen=True, kw_only=True)
class Orders:
    waves: Sequence[Sequence[Order]] = ()  # one is bound before the next is written
    ungate: Sequence[Pod] = ()  # no longer held, for whatever reason
    overdue: Sequence[Pod] = ()  # of these, because they were held for too long
    on_pools: Sequence[tuple[Pod, str]] = ()  # with the pool that would have to grow for it
    unplaced: Mapping[str, tuple[Pod, str]] = field(default_factory=dict)  # by UID, with the reason
    more: bool = False  # pods that found no room in the batch

    def placed(self) -> list[Order]:
        return [order for wave in self.waves for order in wave]


class _SolverBackoff:
    """Each time the solvers look in vain, they are skipped for twice as many plans."""

    def __init__(self) -> None:
        self._doublings = 0
        self._left = 0

    def skips(self) -> bool:
        return self._left > 0

    def record(self, *, found: bool) -> None:
        """After each plan that the solvers could have had a part in."""
        if self._left:
            self._left -= 1
        elif not found:
            self._doublings = min(self._doublings + 1, _MAX_DOUBLINGS)
            self._left = 2**self._doublings - 1
        else:
            self._doublings = 0


@dataclass(frozen=True, kw_only=True)
class _Round:
    """What one plan is made for."""

    settings: PlannerSettings
    now: float
    chosen: Sequence[Pod]
    waited: Mapping[str, float]  # by UID, in seconds
    in_flight: Mapping[str, Pod]  # by UID
    taken: Sequence[Pod]  # room that is kept for pods to come, as if they were there
    more: bool  # pods wait that found no room in the batch
    hurried: bool  # pods come faster than they are planned


class Planning:
    def __init__(
        self,
        cache: Cache,
        settings: Settings,
        worker: Worker | None,
        metrics: PlanMetrics,
        pools: Callable[[], Sequence[PoolTemplate]] | None = None,
        *,
        ready: Callable[[Pod], bool] = lambda _: True,
        moves: Callable[[Sequence[Pod]], InFlight] = lambda _: InFlight(),
        journal: Journal | None = None,
    ) -> None:
        """`pools` are nodes that could be added, those of the settings if nobody knows of others.

        A pod that is not `ready` is not planned for a moment: the size of its gang is being looked up.
        `moves` says of the pods that wait which of them replace what was moved, and where room is kept.
        """
        self._journal = journal or Journal()
        self._ready = ready
        self._moves = moves
        self._cache = cache
        self._pools = pools or (lambda: settings.planner.pools)
        self._settings = settings
        self._worker = worker
        self._metrics = metrics
        self._promised: dict[str, Order] = {}
        self._unplaced: Mapping[str, tuple[Pod, str]] = {}
        self._backoff = _SolverBackoff()
        self._patience = _SolverBackoff()  # for pods that are looked for in vain
        self._batched: dict[str, float] = {}  # UID to when the pod was last in a batch

    def decide(self, *, news: bool, pressed: bool = False) -> Orders:
        """Without news, only pods whose plan has run out or that were held for too long are looked at.

        `pressed` says that more pods come while those of earlier plans are on their way.
        """
        settings, now = self._settings.planner, time.time()
        unbound = self._cache.waiting()
        held = [pod for pod in unbound if gate.held(pod)]
        self._metrics.held.set(len(held))
        if not settings.enabled or self._settings.shadow:
            return Orders(ungate=held)
        in_flight = self._in_flight(unbound, settings, now)
        grounded = [pod for pod in unbound if pod.uid not in in_flight]
        waiting = selection.waiting(grounded, settings.schedulers, now, nominated=settings.nominate)
        waited = {pod.uid: selection.waited_seconds(pod, now) for pod in waiting}
        waiting = [pod for pod in waiting if self._ready(pod) or waited[pod.uid] > _READY_SECONDS]
        if not (news or any(pod.uid not in self._unplaced for pod in waiting)):
            overdue = _overdue(waiting, waited, settings)
            return Orders(ungate=overdue, overdue=overdue, unplaced=self._unplaced)
        moves = self._moves(unbound)
        chosen = [_pinned(pod, moves) for pod in self._choose(waiting, waited, settings, now)]
        if not chosen:
            self._unplaced = {}
            return Orders()
        return self._plan(
            _Round(
                settings=settings,
                now=now,
                chosen=chosen,
                waited=waited,
                in_flight=in_flight,
                taken=moves.taken,
                more=len(chosen) < len(waiting),
                hurried=pressed and len(chosen) < _WORTH_SOLVING * settings.solve_seconds,
            )
        )

    def forget(self, uids: Iterable[str]) -> None:
        """These promises were not kept: they could not be written."""
        for uid in uids:
            self._promised.pop(uid, None)

    def _choose(
        self, waiting: Sequence[Pod], waited: Mapping[str, float], settings: PlannerSettings, now: float
    ) -> list[Pod]:
        """Who was in a batch, and found no place, is at the end of the queue for the next."""
        turns = {pod.uid: min(waited[pod.uid], now - self._batched.get(pod.uid, 0.0)) for pod in waiting}
        chosen = selection.choose(waiting, turns, settings.batch.max_pods, settings.tenant_share)
        self._batched = {uid: at for uid, at in self._batched.items() if uid in turns}
        self._batched |= dict.fromkeys((pod.uid for pod in chosen), now)
        return chosen

    def _in_flight(self, pods: Sequence[Pod], settings: PlannerSettings, now: float) -> dict[str, Pod]:
        """Pods on their way to a node: as on it. Their room is taken, unless kube-scheduler refused them."""
        waiting = {pod.uid: pod for pod in pods}
        for uid, order in list(self._promised.items()):
            seen = waiting.get(uid)
            if seen is None or plan_annotation.read(seen) == order.plan or not order.plan.fresh(now):
                del self._promised[uid]
        flying = selection.in_flight(pods, now, nominated=settings.nominate)
        promised = {uid: _on_node(order) for uid, order in self._promised.items()}
        return {pod.uid: pod for pod in flying} | promised

    def _plan(self, this: _Round) -> Orders:
        started = time.monotonic()
        result, moving = self._solve(this)
        orders = _orders(result, this)
        if not this.hurried:
            self._backoff.record(found=result.plan.engine != "greedy")
            self._patience.record(found=not result.plan.unplaced)
        seconds = time.monotonic() - started
        self._metrics.planned(result, seconds)
        self._journal.add(
            note(result, at=this.now, seconds=seconds, in_flight=moving),
            priced=not np.isnan(result.batch.snapshot.nodes.price).all(),
        )
        _log.info(
            "planned %d of %d pods in %d waves by %s in %.2f s; %d more are in flight",
            len(result.plan.placements),
            len(this.chosen),
            len(orders.waves),
            result.plan.engine,
            seconds,
            moving,
        )
        if result.failure:
            _log.warning("the solvers failed, the plan is the best so far: %s", result.failure)
        self._promised |= {order.pod.uid: order for order in orders.placed()}
        self._unplaced = {} if this.more else orders.unplaced
        return orders

    def _solve(self, this: _Round) -> tuple[PlanResult, int]:
        """The plan, and how many pods are in flight besides those it places."""
        snapshot, pods = self._cache.state()
        # Since they were chosen, some may have been bound.
        bound = [pod for pod in pods if pod.node_name]
        waiting = {pod.uid for pod in pods if not pod.node_name and pod.waiting}
        chosen = [pod for pod in this.chosen if pod.uid in waiting]
        moving = [pod for pod in this.in_flight.values() if pod.uid in waiting]
        settings = this.settings
        result = plan(
            snapshot.with_pods([*moving, *this.taken]),
            [*bound, *moving, *this.taken, *chosen],
            self._settings.policy_of,
            self._worker,
            settings.solve_seconds,
            patience=0.0 if self._patience.skips() else settings.place_seconds,
            idle=_IDLE_SECONDS,
            skip_solver_if_complete=this.hurried or self._backoff.skips(),
            favour=selection.favour(chosen, this.waited, settings.hold_seconds, settings.tenant_share),
            expires_at=float(round(this.now + settings.plan_seconds)),
            pools=self._pools(),
            rent=settings.rent,
            engine=settings.engine,
        )
        return result, len(moving)


def _orders(result: PlanResult, this: _Round) -> Orders:
    pod_of = {pod.uid: pod for pod in this.chosen}
    waves: dict[int, list[Order]] = {}
    for each in result.plan.placements:
        written = PlanAnnotation(each.node, result.plan.expires_at, each.strict)
        waves.setdefault(each.wave, []).append(Order(pod_of[each.uid], written))
    named = {str(pod): pod for pod in this.chosen}
    unplaced = {named[name].uid: (named[name], why) for name, why in result.plan.unplaced.items()}
    # An autoscaler does not look at pods that are held.
    on_pools = [(named[name], pool) for name, pool in result.pools.items() if named[name].gates]
    overdue = _overdue(
        [pod for pod, _ in unplaced.values() if str(pod) not in result.pools], this.waited, this.settings
    )
    return Orders(
        waves=[waves[number] for number in sorted(waves)],
        ungate=[*overdue, *(pod for pod, _ in on_pools)],
        overdue=overdue,
        on_pools=on_pools,
        unplaced=unplaced,
        more=this.more,
    )


def _overdue(pods: Sequence[Pod], waited: Mapping[str, float], settings: PlannerSettings) -> list[Pod]:
    """Only pods that are held can be ungated."""
    return [pod for pod in selection.overdue(pods, waited, settings.hold_seconds) if pod.gates]


def _pinned(pod: Pod, moves: InFlight) -> Pod:
    """To its target, if it replaces a pod that was moved."""
    node = moves.pins.get(pod.uid)
    return pod if node is None else msgspec.structs.replace(pod, annotations={**pod.annotations, NODE: node})


def _on_node(order: Order) -> Pod:
    return msgspec.structs.replace(order.pod, node_name=order.plan.node)
