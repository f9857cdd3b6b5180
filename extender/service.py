"""The life of the service: start, follow changing files, stop without dropping a request."""

import asyncio
import contextlib
import gc
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass

import uvloop
from fastapi import FastAPI

from extender.app import App, add_explain, add_verbs
from extender.bind import Binder
from extender.direct import DirectProtocol
from extender.metrics import ExtenderMetrics
from extender.tls import Certificates, RotatingTls
from extender.verbs import Verbs
from tradewind.explain.decisions import Decisions
from tradewind.kube.client import Client
from tradewind.kube.leader import Leader
from tradewind.market.karpenter import interrupted_by_events
from tradewind.market.learning import LEASE, MarketLearning
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server, attempt, serve

_LEARN_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    probe_host: str
    probe_port: int | None  # None: probes and metrics are on `port` too
    certificates: Certificates | None
    max_body_bytes: int
    decisions: int  # how many are kept for people who ask why
    decision_age_seconds: float
    bind: bool = False
    learn: bool = False
    welcome: Callable[[str, str], str] = "Tradewind serves on {}".format  # of the verbs' URL and the probes'


class Service:
    def __init__(self, options: Options, parts: Assembly) -> None:
        """Raise TradewindError for certificates that cannot be used."""
        self._options = options
        self._parts = parts
        self._metrics = ExtenderMetrics(parts.registry)
        self._policy_of = parts.settings.policy_of
        self._tls = RotatingTls(options.certificates, self._metrics) if options.certificates else None
        self._servers: list[Server] = []

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; raise TradewindError for a port or a cluster that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            for app, host, port, context in self._apps():
                server = Server(app, host, port, context, DirectProtocol)
                cleanup.callback(server.socket.close)
                self._servers.append(server)
            cleanup.enter_context(self._parts.started())
            gc.freeze()  # a look at all that the imports left takes 80 ms, in which nothing is answered
            uvloop.run(self._run())

    def _apps(self) -> Iterator[tuple[FastAPI, str, int, ssl.SSLContext | None]]:
        verbs = App()
        binder = self._binder() if self._options.bind else None
        decisions = Decisions(self._options.decisions, self._options.decision_age_seconds)
        answers = Verbs(self._parts, self._policy_of, self._metrics, binder, decisions)
        add_verbs(verbs, answers, self._options.max_body_bytes)
        probes = verbs if self._options.probe_port is None else App()
        add_probes(probes, self._parts, self._parts.registry, self._parts.feed.observe)
        add_explain(probes, decisions, self._parts.cache, self._parts.market.origins)
        yield verbs, self._options.host, self._options.port, self._tls.context if self._tls else None
        if self._options.probe_port is not None:
            yield probes, self._options.probe_host, self._options.probe_port, None

    def _binder(self) -> Binder:
        return Binder(self._parts.cache, Client(self._parts.api("--bind")), self._policy_of, self._metrics)

    @contextlib.asynccontextmanager
    async def _learning(self) -> AsyncIterator[MarketLearning]:
        """A candidate for the one that learns, until the end of what is done with it; then it gives up."""
        parts = self._parts
        leader = Leader(parts.api("--learn"), parts.namespace, LEASE, identity.identity())
        learning = MarketLearning(
            parts.market,
            parts.cache,
            parts.market_memory("--learn"),
            parts.market_metrics,
            interrupted=interrupted_by_events(Client(parts.api("--learn"))),
            offer=self._parts.feed.offer,
            leading=lambda: leader.leading,
        )
        leader.start()
        try:
            yield learning
            await attempt(learning.save)
        finally:
            await attempt(leader.stop)

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as cleanup:
            learning = await cleanup.enter_async_context(self._learning()) if self._options.learn else None
            await serve(
                self._servers,
                self._background(learning),
                self._options.welcome(self._servers[0].url, self._servers[-1].url),
            )

    def _background(self, learning: MarketLearning | None) -> Iterator[Coroutine[None, None, None]]:
        yield self._parts.follow_files(self._tls.refresh if self._tls else lambda: None)
        yield self._parts.follow_prices()
        if learning is not None:
            yield self._learn(learning)

    async def _learn(self, learning: MarketLearning) -> None:
        while True:
            await asyncio.sleep(_LEARN_INTERVAL_SECONDS)
            if self._parts.synced:
                await attempt(learning.run)
