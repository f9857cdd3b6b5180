"""The life of the service: start, follow changing files, stop without dropping a request."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn
import uvloop
from fastapi import FastAPI
from kubernetes.client import ApiClient

from cluster.errors import TradewindError
from extender.app import add_explain, add_probes, add_verbs, new_app
from extender.bind import Binder
from extender.decisions import Decisions
from extender.events import warn_about_ourselves
from extender.floor_guard import FloorGuard
from extender.market_feed import MarketFeed
from extender.market_learning import MarketLearning
from extender.market_memory import MarketMemory
from extender.metrics import Metrics
from extender.settings import Settings
from extender.source import EXAMPLES, Source
from extender.tls import Certificates, RotatingTls
from extender.verbs import Verbs

# kube-scheduler keeps idle connections for 90 s and does not repeat a POST on one that we closed.
_KEEP_ALIVE_SECONDS = 120
_SHUTDOWN_SECONDS = 5
_FILES_INTERVAL_SECONDS = 1.0
_FLOOR_INTERVAL_SECONDS = 1.0
_LEARN_INTERVAL_SECONDS = 1.0
_PRICES_INTERVAL_SECONDS = 0.5  # to see whether it is time to ask

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    probe_host: str
    probe_port: int | None  # None: probes and metrics are on `port` too
    config: Path | None
    certificates: Certificates | None
    max_body_bytes: int
    decisions: int  # how many are kept for people who ask why
    decision_age_seconds: float
    bind: bool = False
    protect_floor: bool = False
    learn: bool = False


class Service:
    def __init__(self, options: Options, source: Source) -> None:
        """Raise TradewindError for a configuration or certificates that cannot be used."""
        self._options = options
        self._source = source
        self._metrics = Metrics()
        self._settings = Settings(options.config, self._metrics)
        self._feed = MarketFeed(source.market, source.cache, self._settings.market, self._metrics)
        self._tls = RotatingTls(options.certificates, self._metrics) if options.certificates else None
        self._servers: list[_Server] = []

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; raise TradewindError for a port or a cluster that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            for app, host, port, context in self._apps():
                server = _Server(app, host, port, context)
                cleanup.callback(server.socket.close)
                self._servers.append(server)
            self._source.start()
            cleanup.callback(self._source.stop)
            self._feed.offer()  # a cluster from a file is complete by now
            uvloop.run(self._run())

    def _apps(self) -> Iterator[tuple[FastAPI, str, int, ssl.SSLContext | None]]:
        verbs = new_app()
        policy_of = self._settings.policy_of
        binder = self._binder() if self._options.bind else None
        decisions = Decisions(self._options.decisions, self._options.decision_age_seconds)
        answers = Verbs(self._source, policy_of, self._metrics, binder, decisions)
        add_verbs(verbs, answers, self._options.max_body_bytes)
        probes = verbs if self._options.probe_port is None else new_app()
        add_probes(probes, self._source, self._metrics, self._source.name, self._feed.observe)
        add_explain(probes, decisions, self._source, self._source.market.origins)
        yield verbs, self._options.host, self._options.port, self._tls.context if self._tls else None
        if self._options.probe_port is not None:
            yield probes, self._options.probe_host, self._options.probe_port, None

    def _binder(self) -> Binder:
        return Binder(self._source.cache, self._api("--bind"), self._settings.policy_of, self._metrics)

    def _floor_guard(self) -> FloorGuard:
        api = self._api("--protect-floor")
        return FloorGuard(self._source.cache, api, self._settings.policy_of, self._metrics)

    def _learning(self) -> MarketLearning:
        namespace = os.environ.get("POD_NAMESPACE", "tradewind-system")
        memory = MarketMemory(self._api("--learn"), namespace, self._metrics)
        market, cache = self._source.market, self._source.cache
        return MarketLearning(market, cache, memory, self._metrics, self._feed.offer)

    def _api(self, wanted_by: str) -> ApiClient:
        if self._source.api is None:
            raise TradewindError(f"{wanted_by} needs a live cluster, not one from a file")
        return self._source.api

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        serving = [asyncio.create_task(server.serve(sockets=[server.socket])) for server in self._servers]
        background = [asyncio.create_task(self._follow_files()), asyncio.create_task(self._follow_prices())]
        if self._options.protect_floor:
            background.append(asyncio.create_task(self._guard_floors(self._floor_guard())))
        learning = self._learning() if self._options.learn else None
        if learning is not None:
            background.append(asyncio.create_task(self._learn(learning)))
        print(self._welcome(), flush=True)
        await asyncio.gather(*serving)
        for task in background:
            task.cancel()
        if learning is not None:
            await _attempt(learning.save)

    def _stop(self) -> None:
        for server in self._servers:
            server.should_exit = True

    async def _follow_files(self) -> None:
        while True:
            await asyncio.sleep(_FILES_INTERVAL_SECONDS)
            await asyncio.to_thread(self._settings.refresh, self._on_refused)
            await _attempt(self._feed.follow, self._settings.market, self._on_table_refused)
            if self._tls:
                self._tls.refresh()

    async def _follow_prices(self) -> None:
        """Apart from the rest: a slow server of prices keeps nothing else waiting."""
        while True:
            if self._source.synced:
                await _attempt(self._feed.poll)
            await asyncio.sleep(_PRICES_INTERVAL_SECONDS)

    async def _guard_floors(self, guard: FloorGuard) -> None:
        while True:
            await asyncio.sleep(_FLOOR_INTERVAL_SECONDS)
            if self._source.synced:
                await asyncio.to_thread(guard.run)

    async def _learn(self, learning: MarketLearning) -> None:
        while True:
            await asyncio.sleep(_LEARN_INTERVAL_SECONDS)
            if self._source.synced:
                await _attempt(learning.run)

    def _on_refused(self, message: str) -> None:
        warn_about_ourselves(self._source.api, "ConfigurationRefused", message)

    def _on_table_refused(self, message: str) -> None:
        warn_about_ourselves(self._source.api, "PriceTableRefused", message)

    def _welcome(self) -> str:
        verbs, probes = self._servers[0].url, self._servers[-1].url
        return (
            f"Tradewind serves {self._source.name} on {verbs}\n"
            f"  try      curl -s -d @{EXAMPLES / 'request.json'} {verbs}/prioritize\n"
            f"  ask why  curl -s {probes}/explain/shop/checkout-0, or: tradewind explain NAMESPACE/POD\n"
            f"  look     {probes}/docs for the endpoints, {probes}/metrics for Prometheus\n"
            f"  connect  add {verbs} as an extender to kube-scheduler: see docs/install.md"
        )


async def _attempt(work: Callable[..., None], *arguments: object) -> None:
    """One round in a thread; a defect in it must not end all further rounds without a word."""
    try:
        await asyncio.to_thread(work, *arguments)
    except Exception:  # noqa: BLE001  any defect at all; it is logged with its trace
        _log.exception("%s failed; it is tried again", work.__qualname__)


class _Server(uvicorn.Server):
    """A server on a socket that is open from the start, without signal handlers of its own."""

    def __init__(self, app: FastAPI, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self.socket = _listen(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{shown}:{self.socket.getsockname()[1]}"
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
                ssl_context_factory=(lambda _config, _default: context) if context else None,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise TradewindError(f"listening on {host} port {port}: {error}; --port chooses another") from error
