"""The life of the planner: a process of its own, so that nothing it does keeps a request waiting."""

import asyncio
import contextlib
import gc
import logging
import math
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop
from fastapi import FastAPI

from tradewind.cluster.cache import WorkCounter
from tradewind.cluster.objects import Pod
from tradewind.controller.batching import collect
from tradewind.controller.company import Company
from tradewind.controller.crowding import Crowding
from tradewind.controller.evictions import Evictions
from tradewind.controller.first_ones import FirstOnes
from tradewind.controller.floor_guard import FloorGuard
from tradewind.controller.growing import Growing
from tradewind.controller.guide_publisher import GuidePublisher
from tradewind.controller.metrics import PlanMetrics, StandingMetrics
from tradewind.controller.move_hands import MoveHands
from tradewind.controller.moves import Moves
from tradewind.controller.orders import Order, Orders
from tradewind.controller.owed_replicas import OwedReplicas
from tradewind.controller.plan_events import PlanEvents
from tradewind.controller.plan_writer import PlanWriter, WriteOutcome
from tradewind.controller.planning import Planning
from tradewind.controller.promises import Promises
from tradewind.controller.release import LEASE
from tradewind.controller.standing import Standing
from tradewind.controller.wanted_pods import WantedPods
from tradewind.kube.client import Client
from tradewind.kube.leader import Leader
from tradewind.kube.writes import ApiWrites
from tradewind.planner import nominations, plan_annotation
from tradewind.planner.journal import Journal
from tradewind.planner.standing.worker import StandingWorker
from tradewind.planner.worker import Worker
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server, attempt, serve
from tradewind.version import VERSION

# How often to look for plans that have expired and pods that were held for too long, while nothing happens.
_LOOK_SECONDS = 1.0
_SYNC_SECONDS = 0.1
_LOAD_SECONDS = 15.0
_FLOOR_SECONDS = 1.0
_COMPANY_SECONDS = 0.5
_STANDING_SECONDS = 0.5
_MOVES_SECONDS = 1.0
# The same while a set is under way: room is reserved for it, and each pod waits for the one before.
_MOVING_SECONDS = 0.25
# Pause between two looks for bindings; it grows with the time waited so far.
_BOUND_SECONDS = 0.02
_BOUND_SHARE = 0.05
# For pods that are sent elsewhere to be bound there: others wait for their room.
_DIVERTED_SECONDS = 5.0
# Full batches stay open for this many times the CPU time of a plan, which leaves the CPU to pods that are
# created, ungated and bound.
_REST_FACTOR = 4.0
# For one round of each loop beside the solves of the settings: a solver process may have to be started, and
# requests to the API server have deadlines of their own.
_ROUND_SECONDS = 300.0
_PLAN_SECONDS = 120.0
_MAX_SOLVES = 3  # in a round of planning: with the unwritten, alone, with those in flight

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlannerOptions:
    probe_host: str
    probe_port: int
    lease_seconds: float = 15.0
    learn: bool = False
    protect_floor: bool = False
    evict: bool = False
    hub_kubeconfig: Path | None = None  # publish this cluster there
    hub_namespace: str = identity.SITES_NAMESPACE


class PlannerService:
    def __init__(self, options: PlannerOptions, parts: Assembly) -> None:
        """Raise TradewindError for a cluster that is not live."""
        self._options = options
        self._parts = parts
        self._api = parts.api("the planner")
        self._metrics = PlanMetrics(parts.registry)
        self._site = (
            parts.site_publisher(options.hub_kubeconfig, options.hub_namespace)
            if options.hub_kubeconfig
            else None
        )
        self._leader = self._new_leader()
        self._worker = Worker()
        client = Client(self._api)
        evictions = Evictions(client, self._metrics) if options.evict else None
        self._wanted = WantedPods(client)
        self._owed = OwedReplicas(parts.cache, self._wanted)
        self._crowding = Crowding(parts.cache)
        self._first_ones = FirstOnes(parts.cache)
        self._company = Company(parts.cache, client, parts.settings, evictions)
        hands = MoveHands(client, parts.namespace, self._metrics, lambda: self._leader.leading)
        promises = Promises()
        self._moves = Moves(
            parts.cache, parts.settings, hands, self._metrics, promises.pods, clock=self._leader.clock.now
        )
        self._journal = Journal()
        self._planning = Planning(
            parts.cache,
            parts.settings,
            self._worker,
            self._metrics,
            parts.pools,
            incomplete=self._incomplete,
            moves=self._moves.in_flight,
            promises=promises,
            journal=self._journal,
            clock=self._leader.clock.now,
        )
        self._took = 0.0  # seconds of CPU time in this process, for the newest plan
        self._closed = -math.inf  # when the newest batch was, of time.monotonic
        self._under_way: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        """Plan until SIGINT or SIGTERM; raise TradewindError for a port that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            server = Server(self._probes(), self._options.probe_host, self._options.probe_port)
            cleanup.callback(server.socket.close)
            cleanup.enter_context(self._parts.started())
            cleanup.callback(self._worker.close)
            cleanup.callback(self._leader.stop)
            gc.freeze()  # what the imports left is never garbage: keep the collector off it
            uvloop.run(self._run(server))

    def _incomplete(self, pods: Sequence[Pod], waited: Mapping[str, float]) -> frozenset[str]:
        unsized = frozenset(pod.uid for pod in pods if not self._company.sizes.ready(pod))
        return unsized | self._first_ones.waiting(pods, waited)

    def _probes(self) -> FastAPI:
        parts = self._parts
        probes = FastAPI(title="Tradewind planner", version=VERSION, docs_url=None, redoc_url=None)
        add_probes(
            probes,
            parts,
            parts.registry,
            parts.feed.observe,
            trouble=self._leadership_trouble,
            missed=parts.heartbeats.missed,
        )
        return probes

    def _new_leader(self) -> Leader:
        duration = self._options.lease_seconds
        return Leader(
            self._api,
            self._parts.namespace,
            LEASE,
            identity.identity(),
            duration=duration,
            retry=min(2.0, duration / 5),
            on_change=self._on_leadership,
            unfit=self._parts.heartbeats.missed,
        )

    def _leadership_trouble(self) -> str:
        if self._leader.leading or self._leader.follows:
            return ""
        return f"this planner does not lead, and sees no other that does; {self._leader.trouble}".rstrip("; ")

    def _on_leadership(self, leading: bool) -> None:
        self._metrics.leading.set(leading)
        self._parts.cache.notify()

    async def _run(self, server: Server) -> None:
        async with ApiWrites(self._api, permitted=lambda: self._leader.leading) as writes:
            writer = PlanWriter(writes, self._metrics)
            events = PlanEvents(writes, self._metrics)
            welcome = f"Tradewind plans for {self._parts.name}\n  look  {server.url}/metrics for Prometheus"
            await serve([server], self._background(writer, events), welcome)
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    def _background(self, writer: PlanWriter, events: PlanEvents) -> Iterator[Coroutine[None, None, None]]:
        yield self._campaign()
        yield self._parts.follow_files()
        yield self._parts.follow_prices()
        if self._options.learn:
            yield self._parts.follow_learned()
        if self._site is not None:
            yield self._parts.follow_site(self._site, lambda: self._leader.leading)
        if self._options.protect_floor:
            yield self._guard_floors()
        yield self._keep_company(events)
        yield self._stand()
        yield self._move(events)
        yield self._take_back(writer)
        yield self._plan(writer, events)

    async def _campaign(self) -> None:
        """For the Lease, once the solvers are loaded or had their time: no pod waits for that."""
        deadline = time.monotonic() + _LOAD_SECONDS
        await attempt(self._worker.start)
        while not self._worker.loaded and time.monotonic() < deadline:  # noqa: ASYNC110  another process says so
            await asyncio.sleep(_SYNC_SECONDS)
        self._leader.start()

    async def _guard_floors(self) -> None:
        parts = self._parts
        guard = FloorGuard(parts.cache, Client(self._api), parts.settings, self._metrics)
        while True:
            parts.heartbeats.beat("floors", _ROUND_SECONDS)
            await asyncio.sleep(_FLOOR_SECONDS)
            if self._leader.leading and parts.synced and not parts.settings.shadow:
                await attempt(guard.run)

    async def _stand(self) -> None:
        """The whole cluster is looked at beside the batches, in a process of its own."""
        parts, leader = self._parts, self._leader
        metrics = StandingMetrics(parts.registry)
        publisher = GuidePublisher(
            Client(self._api), parts.namespace, metrics, lambda: leader.leading, self._journal
        )
        standing = Standing(
            parts.cache,
            parts.settings,
            StandingWorker(),
            publisher,
            metrics,
            pools=parts.pools,
            wanted=Growing(self._wanted, leader.clock.now).wanted,
        )
        try:
            while True:
                parts.heartbeats.beat("standing", _ROUND_SECONDS + parts.settings.planner.standing.seconds)
                await asyncio.sleep(_STANDING_SECONDS)
                leading = leader.leading and parts.synced
                await attempt(standing.run if leading else standing.rest)
        finally:
            standing.rest()

    async def _keep_company(self, events: PlanEvents) -> None:
        while True:
            self._parts.heartbeats.beat("gangs", _ROUND_SECONDS)
            await asyncio.sleep(_COMPANY_SECONDS)
            if not (self._leader.leading and self._parts.synced) or self._parts.settings.shadow:
                continue
            try:
                losses, without = await asyncio.to_thread(self._company.run)
                await events.gang_broken(losses)
                await events.nodes_without(without)
            except Exception:  # noqa: BLE001  any defect at all: the next round may do better
                _log.exception("looking after gangs and successors failed; retrying")

    async def _move(self, events: PlanEvents) -> None:
        while True:
            self._parts.heartbeats.beat("moves", _ROUND_SECONDS)
            await asyncio.sleep(_MOVES_SECONDS if self._moves.emptying() is None else _MOVING_SECONDS)
            try:
                if not self._leader.leading:
                    self._moves.rest()
                elif self._parts.synced and not self._parts.stale:
                    await events.moves(await asyncio.to_thread(self._moves.run))
                self._journal.empty(self._moves.emptying())
            except Exception:  # noqa: BLE001  any defect at all: the next round may do better
                _log.exception("moving pods failed; retrying")

    async def _take_back(self, writer: PlanWriter) -> None:
        """Plans that have ended; whoever wrote them."""
        while True:
            self._parts.heartbeats.beat("ended plans", _ROUND_SECONDS)
            await asyncio.sleep(_LOOK_SECONDS)
            if not (self._leader.leading and self._parts.synced):
                continue
            now, waiting = self._leader.clock.now(), self._parts.cache.waiting()
            try:
                await writer.take_back([pod for pod in waiting if nominations.has_ended(pod, now)])
            except Exception:  # noqa: BLE001  any defect at all: the next round may do better
                _log.exception("Failed to take back plans; retrying")

    async def _plan(self, writer: PlanWriter, events: PlanEvents) -> None:
        seen, failing = WorkCounter(), False
        self._beat_planning()
        while True:
            try:
                seen = await self._turn(seen, writer, events)
                # Without the Lease nothing is planned: such a turn does not end a failure.
                failing = failing and not self._leader.leading
                if not failing:
                    self._beat_planning()
            except Exception:  # noqa: BLE001  any defect at all: the next batch may do better
                failing = True
                _log.exception("planning failed; retrying with the next batch")
                if self._leader.leading:
                    self._carry(self._planning.late(), writer, events)
                await asyncio.sleep(_LOOK_SECONDS)
            finally:
                self._planning.promises.resume()

    def _beat_planning(self) -> None:
        settings = self._parts.settings.planner
        solves = _MAX_SOLVES * (settings.solve_seconds + settings.place_seconds)
        self._parts.heartbeats.beat("planning", _PLAN_SECONDS + settings.batch.seconds + solves)

    async def _turn(self, seen: WorkCounter, writer: PlanWriter, events: PlanEvents) -> WorkCounter:
        """What is seen by now: more of it where nothing is left for another turn right away."""
        if not self._parts.synced:
            await asyncio.sleep(_SYNC_SECONDS)
            return seen
        if not self._worker.loaded:
            await attempt(self._worker.start)
        news = await self._collect(seen, writer)
        more = await self._round(writer, events, news=news != seen)
        return seen if more else news

    async def _collect(self, seen: WorkCounter, writer: PlanWriter) -> WorkCounter:
        """A batch as soon as there is one, or nothing new after a while."""
        cache = self._parts.cache
        # What came while the newest batch was planned has waited since then, for all that is known.
        opened = self._closed
        if cache.wait_for_work(seen, 0.0) == seen:
            news = await asyncio.to_thread(cache.wait_for_work, seen, _LOOK_SECONDS)
            if news == seen:
                return news
            opened = time.monotonic()
        if not cache.waiting():
            return cache.wait_for_work(seen, 0.0)
        batch, min_seconds = self._parts.settings.planner.batch, _REST_FACTOR * self._took
        news = await collect(
            cache,
            batch,
            seen,
            opened=opened,
            min_seconds=min_seconds,
            busy=lambda: writer.busy and self._planning.behind,
            owed=self._owed.owed,
            crowded=self._crowded,
        )
        self._closed = time.monotonic()
        if self._closed - opened < batch.seconds:
            self._crowding.paused()
        return news

    def _crowded(self) -> bool:
        """Then what is planned is not written either until the batch is: it may have to go elsewhere."""
        found = self._crowding.crowded(self._parts.settings.planner)
        if found:
            self._planning.promises.suspend()
        return found

    async def _round(self, writer: PlanWriter, events: PlanEvents, *, news: bool) -> bool:
        """Whether pods are left for another round right away."""
        if not self._leader.leading or not self._parts.cache.waiting():
            return False
        loop = asyncio.get_running_loop()

        def release(orders: Orders) -> None:
            loop.call_soon_threadsafe(self._carry, orders, writer, events)

        orders = await asyncio.to_thread(self._decide, release, news=news)
        self._carry(orders, writer, events)
        return orders.more

    def _carry(self, orders: Orders, writer: PlanWriter, events: PlanEvents) -> None:
        task = asyncio.create_task(self._carry_out(orders, writer, events))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _decide(self, release: Callable[[Orders], None], *, news: bool) -> Orders:
        started = time.thread_time()
        orders = self._planning.decide(news=news, release=release)
        self._took = time.thread_time() - started
        return orders

    async def _carry_out(self, orders: Orders, writer: PlanWriter, events: PlanEvents) -> None:
        try:
            await asyncio.gather(
                writer.ungate(orders.ungate), self._write(orders, writer), self._write_events(orders, events)
            )
        except Exception:  # noqa: BLE001  any defect at all: what was not written is planned again
            _log.exception("writing a plan failed")
            self._planning.promises.forget(orders.placed())

    async def _write(self, orders: Orders, writer: PlanWriter) -> None:
        started = time.monotonic()
        settings, planning = self._parts.settings.planner, self._planning
        if orders.diverted and not await self._divert(orders, writer):
            _log.info("pods on their way could not be sent elsewhere; planning anew")
            planning.abandon(orders)
            return
        outcomes = await writer.write(orders.waves, wait_bound=self._bound, claim=planning.promises.claim)
        written = {uid for uid, outcome in outcomes.items() if outcome is WriteOutcome.WRITTEN}
        unwritten = outcomes.keys() - written
        planning.promises.forget(order for order in orders.placed() if order.pod.uid in unwritten)
        written |= {order.pod.uid for order in orders.diverted}
        if not written:
            return
        left = await self._bound(frozenset(written), settings.plan_seconds)
        if not left:
            self._metrics.binding_seconds.observe(time.monotonic() - started)
        found = {pod.uid: pod for pod in self._parts.cache.pods(written)}
        self._metrics.count_followed(
            {
                order.pod.uid: order.plan.node
                for order in orders.placed()
                if order.pod.uid in written and not _replaced(order, found.get(order.pod.uid))
            },
            {uid: pod.node_name for uid, pod in found.items()},
        )

    async def _divert(self, orders: Orders, writer: PlanWriter) -> bool:
        """Whether the pods that are in flight go where the rest of the plan needs them.

        kube-scheduler may have been about to bind one where it was sent before.
        """
        outcomes = await writer.divert(orders.diverted)
        if any(outcome is not WriteOutcome.WRITTEN for outcome in outcomes.values()):
            return False
        await self._bound(frozenset(outcomes), _DIVERTED_SECONDS)
        seen = {pod.uid: pod.node_name for pod in self._parts.cache.pods(outcomes)}
        return all(seen.get(order.pod.uid) in {"", order.plan.node} for order in orders.diverted)

    async def _write_events(self, orders: Orders, events: PlanEvents) -> None:
        await events.unplaced(orders.staying_held())
        await events.planned_on_pool(orders.on_pools)
        await events.ungated(orders.overdue, self._parts.settings.planner.hold_seconds)
        await events.nodeless(orders.nodeless)

    async def _bound(self, uids: frozenset[str], seconds: float) -> frozenset[str]:
        """The UIDs still unbound after so long. Not in a thread: each plan under way would block one."""
        started = time.monotonic()
        while (passed := time.monotonic() - started) < seconds:
            uids = self._parts.cache.still_waiting(uids)
            if not uids:
                break
            await asyncio.sleep(max(_BOUND_SECONDS, _BOUND_SHARE * passed))
        return uids


def _replaced(order: Order, pod: Pod | None) -> bool:
    """Whether the pod has been given another plan since."""
    plan = None if pod is None else plan_annotation.read(pod)
    return plan is not None and not plan.says_the_same(order.plan)
