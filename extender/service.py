"""The life of the service: start, follow changing files, stop without dropping a request."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass

import uvloop
from starlette.types import ASGIApp

from extender.app import App, add_explain, add_verbs
from extender.bind import Binder
from extender.direct import DirectProtocol
from extender.metrics import ExtenderMetrics
from extender.tls import Certificates, RotatingTls
from extender.verbs import Verbs
from extender.waker import wake
from scoring.policy import Policy
from tradewind.cluster.objects import Pod
from tradewind.cluster.reflector import Reflector
from tradewind.cluster.starts import StartWatch
from tradewind.explain.decisions import Decisions
from tradewind.kube.client import Client
from tradewind.kube.leader import Leader
from tradewind.kube.objects import PodReference
from tradewind.kube.reviews import Reviews
from tradewind.market.karpenter import interrupted_by_events
from tradewind.market.learning import LEASE, MarketLearning
from tradewind.page.app import add_page
from tradewind.page.decided import OwnDecisions
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.guard import LoopbackGuard, TokenGuard
from tradewind.runtime.probes import add_probes
from tradewind.runtime.server import Server, attempt, serve, serving_apart
from tradewind.shadow.cluster import ShadowPolicies
from tradewind.shadow.keeper import LEASE as SHADOW_LEASE
from tradewind.shadow.keeper import ShadowKeeper
from tradewind.shadow.memory import ShadowMemory
from tradewind.shadow.metrics import ShadowMetrics

_LEARN_INTERVAL_SECONDS = 1.0
_SHADOW_INTERVAL_SECONDS = 1.0
_WAKE_INTERVAL_SECONDS = 1.0
# For one round of each, requests to the API server included.
_ROUND_SECONDS = 600.0
_LOOPBACK = "127.0.0.1"
# What a role must let people get, for all that the port shows.
EXPLAIN_PATH = "/explain"


@dataclass(frozen=True)
class Exposure:
    """Where people on the network may ask, with a bearer token."""

    host: str
    port: int
    certificates: Certificates


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    probe_host: str
    probe_port: int | None  # None: probes and metrics are on `port` too
    explain_port: int  # on loopback
    certificates: Certificates | None
    max_body_bytes: int
    decisions: int  # how many are kept for people who ask why
    decision_age_seconds: float
    bind: bool = False
    learn: bool = False
    shadow: bool = False  # whatever the configuration says
    exposure: Exposure | None = None
    # Of the URLs of the verbs, the probes and explain.
    welcome: Callable[[str, str, str], str] = "Tradewind serves on {}".format


class Service:
    def __init__(self, options: Options, parts: Assembly) -> None:
        """Raise TradewindError for certificates that cannot be used."""
        self._options = options
        self._parts = parts
        self._metrics = ExtenderMetrics(parts.registry)
        self._policy_of = parts.settings.policy_of
        self._decisions = Decisions(options.decisions, options.decision_age_seconds)
        self._tls = RotatingTls(options.certificates, self._metrics) if options.certificates else None
        exposed = options.exposure
        self._exposed_tls = RotatingTls(exposed.certificates, self._metrics) if exposed else None
        self._shadow_leader: Leader | None = None
        self._shadow = self._shadow_keeper()
        self._servers: list[Server] = []
        self._people: list[Server] = []

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM; raise TradewindError for a port or a cluster that cannot be used."""
        with contextlib.ExitStack() as cleanup:
            for servers, listening in ((self._servers, self._listen()), (self._people, self._listen_apart())):
                for server in listening:
                    cleanup.callback(server.socket.close)
                    servers.append(server)
            cleanup.enter_context(self._parts.started())
            gc.freeze()  # a look at all that the imports left takes 80 ms, in which nothing is answered
            cleanup.enter_context(serving_apart(self._people))
            uvloop.run(self._run())

    def _listen(self) -> Iterator[Server]:
        """For kube-scheduler, and for probes and Prometheus."""
        options = self._options
        verbs = App()
        binder = self._binder() if options.bind else None
        answers = Verbs(
            self._parts,
            self._policy_of,
            self._metrics,
            binder,
            self._decisions,
            shadow=self._in_shadow,
            recheck=self._rechecks,
        )
        self._waker = answers.filter.waker
        add_verbs(verbs, answers, options.max_body_bytes)
        probes = verbs if options.probe_port is None else App()
        add_probes(
            probes,
            self._parts,
            self._parts.registry,
            self._parts.feed.observe,
            missed=self._parts.heartbeats.missed,
        )
        context = self._tls.context if self._tls else None
        yield Server(verbs, options.host, options.port, context, DirectProtocol)
        if options.probe_port is not None:
            yield Server(probes, options.probe_host, options.probe_port, flag="--probe-port")

    def _listen_apart(self) -> Iterator[Server]:
        """For people: never on a port that is open to all, unless a guard asks who they are."""
        app = App()
        add_explain(app, self._decisions, self._parts.cache, self._parts.market.origins)
        decided = OwnDecisions(self._decisions, self._parts.cache, self._parts.market.origins)
        add_page(app, self._parts, decided, self._shadow)
        yield Server(LoopbackGuard(app), _LOOPBACK, self._options.explain_port, flag="--explain-port")
        exposed = self._options.exposure
        if exposed is not None and self._exposed_tls is not None:
            context = self._exposed_tls.context
            yield Server(self._guarded(app), exposed.host, exposed.port, context, flag="--expose-port")

    def _guarded(self, app: ASGIApp) -> TokenGuard:
        reviews = Reviews(Client(self._parts.api("--expose-port")))
        return TokenGuard(app, reviews, EXPLAIN_PATH, self._metrics.explain_requests)

    def _binder(self) -> Binder:
        def policy_of(pod: Pod) -> Policy:
            policy = self._policy_of(pod)
            return policy if self._rechecks() else policy.own

        return Binder(self._parts.cache, Client(self._parts.api("--bind")), policy_of, self._metrics)

    def _rechecks(self) -> bool:
        """Nobody filters the nodes of a cluster from a file before we do."""
        return self._parts.settings.recheck or self._parts.from_file

    def _in_shadow(self) -> bool:
        return self._options.shadow or self._parts.settings.shadow

    def _shadow_keeper(self) -> ShadowKeeper:
        parts = self._parts
        memory = None if parts.from_file else ShadowMemory(Client(parts.api("--shadow")), parts.namespace)
        return ShadowKeeper(
            parts.cache,
            ShadowPolicies(
                parts.settings.policy_of,
                lambda: parts.settings.planner.schedulers,
                lambda: parts.settings.extender_weight,
            ),
            memory,
            ShadowMetrics(parts.registry),
            shadowing=self._in_shadow,
            leading=self._leads_shadow,
            coverage=lambda: str(parts.market.price_coverage()),
        )

    def _leads_shadow(self) -> bool:
        """A candidate from the first question on: who never was in the shadow has no such Lease."""
        parts = self._parts
        if parts.from_file:
            return True
        if self._shadow_leader is None:
            api = parts.api("--shadow")
            self._shadow_leader = Leader(
                api, parts.namespace, SHADOW_LEASE, identity.identity(), unfit=parts.heartbeats.missed
            )
            self._shadow_leader.start()
        return self._shadow_leader.leading

    async def _keep_shadow(self) -> None:
        """Where the state is stale, time passes unwatched."""
        while True:
            self._parts.heartbeats.beat("shadow", _ROUND_SECONDS)
            await asyncio.sleep(_SHADOW_INTERVAL_SECONDS)
            if self._parts.synced and not self._parts.stale:
                await attempt(self._shadow.run)

    async def _leave_shadow(self) -> None:
        await attempt(self._shadow.save)
        if self._shadow_leader is not None:
            await attempt(self._shadow_leader.stop)

    @contextlib.asynccontextmanager
    async def _learning(self) -> AsyncIterator[MarketLearning]:
        """A candidate for the one that learns, until the end of what is done with it; then it gives up."""
        parts = self._parts
        leader = Leader(
            parts.api("--learn"),
            parts.namespace,
            LEASE,
            identity.identity(),
            unfit=parts.heartbeats.missed,
        )
        starts = StartWatch(parts.cache)
        reflector = Reflector(parts.api("--learn"), starts.resources())
        learning = MarketLearning(
            parts.market,
            parts.cache,
            parts.market_memory("--learn"),
            parts.market_metrics,
            interrupted=interrupted_by_events(Client(parts.api("--learn"))),
            starts=starts.take,
            offer=self._parts.feed.offer,
            leading=lambda: leader.leading,
        )
        leader.start()
        reflector.start()
        try:
            yield learning
            await attempt(learning.save)
        finally:
            await attempt(reflector.stop)
            await attempt(leader.stop)

    async def _run(self) -> None:
        async with contextlib.AsyncExitStack() as cleanup:
            cleanup.push_async_callback(self._leave_shadow)
            learning = await cleanup.enter_async_context(self._learning()) if self._options.learn else None
            await serve(
                self._servers,
                self._background(learning),
                self._options.welcome(self._servers[0].url, self._servers[-1].url, self._people[0].url),
            )

    def _background(self, learning: MarketLearning | None) -> Iterator[Coroutine[None, None, None]]:
        yield self._parts.follow_files(self._refresh_certificates)
        yield self._parts.follow_prices()
        yield self._parts.follow_guide()
        yield self._keep_shadow()
        if (own := identity.pod()) is not None and not self._parts.from_file:
            yield self._wake_rejected(Client(self._parts.api("waking pods")), own)
        if learning is not None:
            yield self._learn(learning)

    async def _wake_rejected(self, client: Client, own: PodReference) -> None:
        while True:
            self._parts.heartbeats.beat("waker", _ROUND_SECONDS)
            await asyncio.sleep(_WAKE_INTERVAL_SECONDS)
            if self._waker.look():
                await attempt(wake, client, own)

    def _refresh_certificates(self) -> None:
        for tls in (self._tls, self._exposed_tls):
            if tls is not None:
                tls.refresh()

    async def _learn(self, learning: MarketLearning) -> None:
        while True:
            self._parts.heartbeats.beat("learning", _ROUND_SECONDS)
            await asyncio.sleep(_LEARN_INTERVAL_SECONDS)
            if self._parts.synced:
                await attempt(learning.run)
