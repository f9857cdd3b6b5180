"""The life of the planner: a process of its own, so that nothing it does keeps a request waiting."""

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
from kubernetes.client import ApiClient

from cluster.cache import News
from cluster.errors import TradewindError
from extender import ourselves
from extender.api_writes import ApiWrites
from extender.app import App, add_probes
from extender.batching import Collected, collect
from extender.lease import Leader
from extender.metrics import Metrics
from extender.plan_events import PlanEvents
from extender.plan_metrics import PlanMetrics
from extender.plan_writer import Outcome, PlanWriter
from extender.planning import Orders, Planning
from extender.release import LEASE
from extender.server import Server, serve
from extender.source import Source
from extender.upkeep import Upkeep
from planner.worker import Worker

# Nothing is asked of the cluster then: only whether a plan has run out, or a pod was held for too long.
_LOOK_SECONDS = 1.0
_SYNC_SECONDS = 0.1
# Whether pods are bound is looked at so often, and as time goes on after so much more of it.
_BOUND_SECONDS = 0.02
_BOUND_SHARE = 0.05
# Full batches stay open for so many times the processor time of a plan: pods that are created, let go and
# bound need the processor too.
_REST_FACTOR = 4.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PlannerOptions:
    probe_host: str
    probe_port: int
    config: Path | None
    lease_seconds: float = 15.0
    learn: bool = False


class PlannerService:
    def __init__(self, options: PlannerOptions, source: Source) -> None:
        """Raise TradewindError for a configuration that cannot be used, or a cluster that is not live."""
        self._options = options
        self._source = source
        self._metrics = Metrics()
        self._plan_metrics = PlanMetrics(self._metrics.registry)
        self._upkeep = Upkeep(source, options.config, self._metrics)
        self._worker = Worker()
        self._planning = Planning(source.cache, self._upkeep.settings, self._worker, self._plan_metrics)
        self._leader = self._new_leader(_api(source))
        self._took = 0.0  # seconds of this process's own, by the newest plan
        self._under_way: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        """Plan until SIGINT or SIGTERM; raise TradewindError for a port that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            probes = App()
            add_probes(probes, self._source, self._metrics, self._source.name, self._upkeep.feed.observe)
            server = Server(probes, self._options.probe_host, self._options.probe_port)
            cleanup.callback(server.socket.close)
            self._source.start()
            cleanup.callback(self._source.stop)
            cleanup.callback(self._worker.close)
            self._leader.start()
            cleanup.callback(self._leader.stop)
            gc.freeze()  # what the imports left stays: no look at it is worth its time
            uvloop.run(self._run(server))

    def _new_leader(self, api: ApiClient) -> Leader:
        duration = self._options.lease_seconds
        return Leader(
            api,
            ourselves.namespace(),
            LEASE,
            ourselves.identity(),
            duration=duration,
            retry=min(2.0, duration / 5),
            on_change=self._on_leadership,
        )

    def _on_leadership(self, leading: bool) -> None:
        self._plan_metrics.leading.set(leading)
        self._source.cache.tell()

    async def _run(self, server: Server) -> None:
        api = _api(self._source)
        async with ApiWrites(api, permitted=lambda: self._leader.leading) as writes:
            writer = PlanWriter(writes, self._metrics)
            events = PlanEvents(writes, self._metrics)
            welcome = f"Tradewind plans for {self._source.name}\n  look  {server.url}/metrics for Prometheus"
            await serve([server], self._background(writer, events), welcome)
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    def _background(self, writer: PlanWriter, events: PlanEvents) -> Iterator[Coroutine[None, None, None]]:
        yield self._upkeep.follow_files()
        yield self._upkeep.follow_prices()
        if self._options.learn:
            yield self._upkeep.follow_learned(_api(self._source))
        yield self._plan(writer, events)

    async def _plan(self, writer: PlanWriter, events: PlanEvents) -> None:
        seen = News()
        while True:
            if not self._source.synced:
                await asyncio.sleep(_SYNC_SECONDS)
                continue
            if self._leader.leading and self._worker.pid is None:
                # So that no plan waits until the solvers are loaded.
                await asyncio.to_thread(self._worker.start)
            news, full = await self._collect(seen, writer)
            try:
                more = await self._round(writer, events, news=news != seen, pressed=full)
            except Exception:  # noqa: BLE001  any defect at all: the next batch may do better
                _log.exception("planning failed; it is tried again with the next batch")
                more = False
            seen = seen if more else news

    async def _collect(self, seen: News, writer: PlanWriter) -> Collected:
        """As soon as what came since is a batch, or after a while without."""
        cache = self._source.cache
        news = await asyncio.to_thread(cache.wait_news, seen, _LOOK_SECONDS)
        if news == seen or not cache.waiting():
            return Collected(news, full=False)
        batch, least = self._upkeep.settings.planner.batch, _REST_FACTOR * self._took
        return await collect(cache, batch, seen, least=least, busy=lambda: writer.busy)

    async def _round(self, writer: PlanWriter, events: PlanEvents, *, news: bool, pressed: bool) -> bool:
        """Whether there is more to do at once."""
        if not self._leader.leading or not self._source.cache.waiting():
            return False
        orders = await asyncio.to_thread(self._decide, news=news, pressed=pressed and bool(self._under_way))
        task = asyncio.create_task(self._carry_out(orders, writer, events))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return orders.more

    def _decide(self, *, news: bool, pressed: bool) -> Orders:
        started = time.thread_time()
        orders = self._planning.decide(news=news, pressed=pressed)
        self._took = time.thread_time() - started
        return orders

    async def _carry_out(self, orders: Orders, writer: PlanWriter, events: PlanEvents) -> None:
        try:
            await asyncio.gather(self._write(orders, writer), self._tell(orders, events))
        except Exception:  # noqa: BLE001  any defect at all: what was not written is planned again
            _log.exception("writing a plan failed")
            self._planning.forget(order.pod.uid for order in orders.placed())

    async def _write(self, orders: Orders, writer: PlanWriter) -> None:
        started = time.monotonic()
        settings = self._upkeep.settings.planner
        outcomes = await writer.write(orders.waves, nominate=settings.nominate, wait_bound=self._bound)
        written = {uid for uid, outcome in outcomes.items() if outcome is Outcome.WRITTEN}
        self._planning.forget(outcomes.keys() - written)
        await writer.unhold(orders.let_go)
        if not written:
            return
        left = await self._bound(frozenset(written), settings.plan_seconds)
        if not left:
            self._plan_metrics.binding_seconds.observe(time.monotonic() - started)
        self._plan_metrics.count_followed(
            {order.pod.uid: order.note.node for order in orders.placed() if order.pod.uid in written},
            {pod.uid: pod.node_name for pod in self._source.cache.pods(written)},
        )

    async def _tell(self, orders: Orders, events: PlanEvents) -> None:
        await events.unplaced(orders.unplaced.values())
        await events.planned_on_pool(orders.on_pools)
        await events.released(orders.overdue, self._upkeep.settings.planner.hold_seconds)

    async def _bound(self, uids: frozenset[str], seconds: float) -> frozenset[str]:
        """Those that are not, after so long. Not in a thread: each of many plans would take one."""
        started = time.monotonic()
        while (passed := time.monotonic() - started) < seconds:
            uids = self._source.cache.still_waiting(uids)
            if not uids:
                break
            await asyncio.sleep(max(_BOUND_SECONDS, _BOUND_SHARE * passed))
        return uids


def _api(source: Source) -> ApiClient:
    if source.api is None:
        raise TradewindError(
            "the planner needs a live cluster; 'tradewind plan --cluster FILE' plans one from a file"
        )
    return source.api
