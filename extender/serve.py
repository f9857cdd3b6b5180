"""The life of the service: start, follow changing files, stop without dropping a request."""

import asyncio
import contextlib
import gc
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop
from fastapi import FastAPI
from kubernetes.client import ApiClient

from cluster.errors import TradewindError
from extender import ourselves
from extender.app import App, add_explain, add_probes, add_verbs
from extender.bind import Binder
from extender.decisions import Decisions
from extender.floor_guard import FloorGuard
from extender.lease import Leader
from extender.market_learning import LEASE, MarketLearning
from extender.market_memory import MarketMemory
from extender.metrics import Metrics
from extender.server import Server, attempt, serve
from extender.source import EXAMPLES, Source
from extender.tls import Certificates, RotatingTls
from extender.upkeep import Upkeep
from extender.verbs import Verbs

_FLOOR_INTERVAL_SECONDS = 1.0
_LEARN_INTERVAL_SECONDS = 1.0


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
        self._upkeep = Upkeep(source, options.config, self._metrics)
        self._policy_of = self._upkeep.settings.policy_of
        self._tls = RotatingTls(options.certificates, self._metrics) if options.certificates else None
        self._servers: list[Server] = []

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; raise TradewindError for a port or a cluster that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            for app, host, port, context in self._apps():
                server = Server(app, host, port, context)
                cleanup.callback(server.socket.close)
                self._servers.append(server)
            self._source.start()
            cleanup.callback(self._source.stop)
            self._upkeep.feed.offer()  # a cluster from a file is complete by now
            gc.freeze()  # a look at all that the imports left takes 80 ms, in which nothing is answered
            uvloop.run(self._run())

    def _apps(self) -> Iterator[tuple[FastAPI, str, int, ssl.SSLContext | None]]:
        verbs = App()
        binder = self._binder() if self._options.bind else None
        decisions = Decisions(self._options.decisions, self._options.decision_age_seconds)
        answers = Verbs(self._source, self._policy_of, self._metrics, binder, decisions)
        add_verbs(verbs, answers, self._options.max_body_bytes)
        probes = verbs if self._options.probe_port is None else App()
        add_probes(probes, self._source, self._metrics, self._source.name, self._upkeep.feed.observe)
        add_explain(probes, decisions, self._source, self._source.market.origins)
        yield verbs, self._options.host, self._options.port, self._tls.context if self._tls else None
        if self._options.probe_port is not None:
            yield probes, self._options.probe_host, self._options.probe_port, None

    def _binder(self) -> Binder:
        return Binder(self._source.cache, self._api("--bind"), self._policy_of, self._metrics)

    def _floor_guard(self) -> FloorGuard:
        api = self._api("--protect-floor")
        return FloorGuard(self._source.cache, api, self._policy_of, self._metrics)

    @contextlib.asynccontextmanager
    async def _learning(self) -> AsyncIterator[MarketLearning]:
        """A candidate for the one that learns, until the end of what is done with it; then it gives up."""
        api, source = self._api("--learn"), self._source
        leader = Leader(api, ourselves.namespace(), LEASE, ourselves.identity())
        learning = MarketLearning(
            source.market,
            source.cache,
            MarketMemory(api, ourselves.namespace(), self._metrics),
            self._metrics,
            offer=self._upkeep.feed.offer,
            leading=lambda: leader.leading,
        )
        leader.start()
        try:
            yield learning
            await attempt(learning.save)
        finally:
            await attempt(leader.stop)

    def _api(self, wanted_by: str) -> ApiClient:
        if self._source.api is None:
            raise TradewindError(f"{wanted_by} needs a live cluster, not one from a file")
        return self._source.api

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as cleanup:
            learning = await cleanup.enter_async_context(self._learning()) if self._options.learn else None
            await serve(self._servers, self._background(learning), self._welcome())

    def _background(self, learning: MarketLearning | None) -> Iterator[Coroutine[None, None, None]]:
        yield self._upkeep.follow_files(self._tls.refresh if self._tls else lambda: None)
        yield self._upkeep.follow_prices()
        if self._options.protect_floor:
            yield self._guard_floors(self._floor_guard())
        if learning is not None:
            yield self._learn(learning)

    async def _guard_floors(self, guard: FloorGuard) -> None:
        while True:
            await asyncio.sleep(_FLOOR_INTERVAL_SECONDS)
            if self._source.synced:
                await attempt(guard.run)

    async def _learn(self, learning: MarketLearning) -> None:
        while True:
            await asyncio.sleep(_LEARN_INTERVAL_SECONDS)
            if self._source.synced:
                await attempt(learning.run)

    def _welcome(self) -> str:
        verbs, probes = self._servers[0].url, self._servers[-1].url
        return (
            f"Tradewind serves {self._source.name} on {verbs}\n"
            f"  try      curl -s -d @{EXAMPLES / 'request.json'} {verbs}/prioritize\n"
            f"  ask why  curl -s {probes}/explain/shop/checkout-0, or: tradewind explain NAMESPACE/POD\n"
            f"  look     {probes}/docs for the endpoints, {probes}/metrics for Prometheus\n"
            f"  connect  add {verbs} as an extender to kube-scheduler: see docs/install.md"
        )
