"""`tradewind fleet` as a process: watches, the scheduler, probes and metrics."""

import asyncio
import contextlib
import gc
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop
from fastapi import FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from tradewind.cluster.reflector import Reflector
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.errors import TradewindError
from tradewind.hub.binding_writer import BindingWriter
from tradewind.hub.homes import HomeView, PartitionMapper
from tradewind.hub.ledger_store import LedgerStore
from tradewind.hub.metrics import FleetMetrics
from tradewind.hub.presence import Presence
from tradewind.hub.scheduler import DEFAULT_NAME, FleetScheduler
from tradewind.hub.state import FleetState
from tradewind.kube.access import connect
from tradewind.kube.client import Client
from tradewind.kube.writes import ApiWrites
from tradewind.runtime import identity
from tradewind.runtime.heartbeats import Heartbeats
from tradewind.runtime.probes import add_health
from tradewind.runtime.server import Server, attempt, serve
from tradewind.version import VERSION

_FILES_INTERVAL_SECONDS = 1.0
_HOMES_INTERVAL_SECONDS = 0.2
_MAP_INTERVAL_SECONDS = 5.0
# For one round of each loop, requests to the API server included.
_ROUND_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class FleetOptions:
    kubeconfig: Path | None
    config: Path | None
    namespace: str
    sites_namespace: str = identity.SITES_NAMESPACE
    probe_host: str
    probe_port: int
    scheduler_name: str = DEFAULT_NAME
    lease_seconds: float = 15.0


class FleetService:
    def __init__(self, options: FleetOptions) -> None:
        """Raise TradewindError for a configuration or a hub that cannot be used."""
        connected = connect(options.kubeconfig)
        if connected is None:
            raise TradewindError(
                "no hub: --kubeconfig or KUBECONFIG names Karmada's API server; there is no ~/.kube/config"
            )
        self._hub, self._api = connected
        self._options = options
        self._registry = CollectorRegistry()
        self._settings = Settings(options.config, ConfigMetrics(self._registry))
        self._metrics = FleetMetrics(self._registry)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._state = FleetState(
            options.namespace, options.sites_namespace, self._wake, self._settings.fleet.promise_seconds
        )
        self._watches = Reflector(self._api, self._state.resources())
        self._moved = False
        self._heartbeats = Heartbeats()
        self._presence = Presence(
            self._api,
            options.namespace,
            identity.identity(),
            scheduler_name=options.scheduler_name,
            seconds=options.lease_seconds,
            on_change=self._homes_moved,
            unfit=self._heartbeats.missed,
        )
        self._homes = HomeView(self._presence.identity, lambda: self._presence.alive)

    def _homes_moved(self) -> None:
        self._moved = True
        self._wake()

    def run(self) -> None:
        """Schedule until SIGINT or SIGTERM; raise TradewindError for a port that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            server = Server(self._probes(), self._options.probe_host, self._options.probe_port)
            cleanup.callback(server.socket.close)
            uvloop.run(self._run(server))

    async def _run(self, server: Server) -> None:
        gc.freeze()  # what the imports left is never garbage: keep the collector off it
        self._loop = asyncio.get_running_loop()
        self._watches.start()
        self._presence.start()
        try:
            async with ApiWrites(self._api) as writes:
                client = Client(self._api)
                ledgers = LedgerStore(writes, client, self._state, self._metrics)
                scheduler = FleetScheduler(
                    self._state,
                    ledgers,
                    BindingWriter(writes, client),
                    self._metrics,
                    settings=self._settings.fleet,
                    name=self._options.scheduler_name,
                    homes=self._homes,
                )
                welcome = f"Tradewind schedules the fleet of {self._hub}\n  look  {server.url}/metrics"
                mapper = PartitionMapper(
                    self._homes, client, self._options.namespace, self._options.scheduler_name
                )
                await serve([server], self._background(scheduler, mapper), welcome)
                await scheduler.close()
        finally:
            self._loop = None
            await asyncio.to_thread(self._presence.stop)
            await asyncio.to_thread(self._watches.stop)

    def _background(
        self, scheduler: FleetScheduler, mapper: PartitionMapper
    ) -> Iterator[Coroutine[None, None, None]]:
        beat = partial(self._heartbeats.beat, "scheduler", _ROUND_SECONDS)
        yield scheduler.run(self._changed, lambda: self._watches.synced, beat)
        yield self._follow_files(scheduler)
        yield self._follow_homes(scheduler)
        yield self._map_partitions(mapper)

    async def _follow_homes(self, scheduler: FleetScheduler) -> None:
        while True:
            self._heartbeats.beat("homes", _ROUND_SECONDS)
            await asyncio.sleep(_HOMES_INTERVAL_SECONDS)
            if self._moved and self._watches.synced:
                self._moved = False
                scheduler.reconsider()

    async def _map_partitions(self, mapper: PartitionMapper) -> None:
        while True:
            self._heartbeats.beat("partitions", _ROUND_SECONDS)
            await asyncio.sleep(_MAP_INTERVAL_SECONDS)
            if self._watches.synced and await mapper.run():
                self._homes_moved()

    async def _follow_files(self, scheduler: FleetScheduler) -> None:
        while True:
            self._heartbeats.beat("files", _ROUND_SECONDS)
            await asyncio.sleep(_FILES_INTERVAL_SECONDS)
            await attempt(self._settings.refresh, lambda _: None)
            scheduler.configure(self._settings.fleet)

    def _wake(self) -> None:
        """From the thread of a watch."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(self._changed.set)

    def _probes(self) -> FastAPI:
        app = FastAPI(title="Tradewind fleet", version=VERSION, docs_url=None, redoc_url=None)
        add_health(app, self._heartbeats.missed)

        @app.get("/readyz", summary="Can it do its work?")
        async def readyz(response: Response) -> dict[str, str | bool]:
            if self._watches.synced:
                return {"ready": True, "reason": "clusters, summaries and bindings are known"}
            response.status_code = 503
            troubles = [f"{watch.name}: {watch.trouble}" for watch in self._watches.watches if watch.trouble]
            return {"ready": False, "reason": "; ".join(["the first lists are under way", *troubles])}

        @app.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
        async def metrics() -> Response:
            return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

        return app
