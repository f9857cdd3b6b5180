"""The composition root: a source and a configuration become cache, market and policies.

Every command is put together here, so that a setting means the same to all of them.
"""

import asyncio
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from tradewind.cluster.cache import Cache
from tradewind.cluster.freshness import Freshness
from tradewind.cluster.guide_follower import GuideFollower
from tradewind.cluster.metrics import GuideMetrics, WatchView
from tradewind.cluster.partial import missing
from tradewind.cluster.reflector import Reflector
from tradewind.config.document import Document
from tradewind.config.metrics import ConfigMetrics
from tradewind.config.settings import Settings
from tradewind.errors import TradewindError
from tradewind.kube.access import ApiClient
from tradewind.kube.client import Client
from tradewind.kube.events import warn
from tradewind.market.feed import MarketFeed
from tradewind.market.market import Market
from tradewind.market.memory import MarketMemory
from tradewind.market.metrics import MarketMetrics
from tradewind.market.recall import MarketRecall
from tradewind.planner.settings import PoolTemplate
from tradewind.runtime import identity
from tradewind.runtime.heartbeats import Heartbeats
from tradewind.runtime.provisioning import pools
from tradewind.runtime.server import attempt
from tradewind.runtime.site import SitePublisher, publisher
from tradewind.runtime.source import Copied, Source

_FILES_INTERVAL_SECONDS = 1.0
_PRICES_INTERVAL_SECONDS = 0.5  # to see whether it is time to ask
_LEARNED_INTERVAL_SECONDS = 1.0  # the same
_SITE_INTERVAL_SECONDS = 0.5  # the same
_GUIDE_INTERVAL_SECONDS = 0.5  # to see whether it is too old
# For one round: of files, and of servers, whose requests have deadlines of their own.
_FILES_SECONDS = 120.0
_SERVERS_SECONDS = 600.0
_MAX_QUERIES = 10  # to Prometheus, in a round


class _Pools(NamedTuple):
    of: tuple[object, ...]  # what they were made of: each is replaced when it changes
    version: int  # of the market
    found: Sequence[PoolTemplate]

    def made_of(self, of: tuple[object, ...], version: int) -> bool:
        return version == self.version and all(map(operator.is_, of, self.of))


class Assembly:
    def __init__(self, source: Source, config: Path | Document | None, namespace: str | None = None) -> None:
        """Raise TradewindError for a configuration or a price table that cannot be used.

        `namespace` is where Tradewind keeps objects of its own, Leases and what was learned.
        """
        self.namespace = namespace or identity.namespace()
        self.registry = CollectorRegistry()
        self.market_metrics = MarketMetrics(self.registry)
        self.market = Market()
        self.cache = Cache(self.market.offer_of)
        self.settings = Settings(config, ConfigMetrics(self.registry), self.cache.notify)
        self.feed = MarketFeed(self.market, self.cache, self.settings.market, self.market_metrics)
        self.heartbeats = Heartbeats()
        self._source = source
        self._pools: _Pools | None = None
        self._guide_follower: GuideFollower | None = None
        source.attach(self.cache, self.settings.stale_seconds)
        self._freshness = Freshness(source.watches, self.settings.stale_seconds)

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def synced(self) -> bool:
        return self._source.synced

    @property
    def stale(self) -> str:
        """Why the cluster state must not be trusted; empty while it may be."""
        return self._freshness.stale

    def now(self) -> float:
        """By the clock of the API server."""
        return self._source.now()

    @property
    def watches(self) -> Sequence[WatchView]:
        return self._source.watches

    def copied(self) -> Copied:
        """The cluster as it is now."""
        snapshot, pods = self.cache.state()
        cluster = snapshot.nodes.cluster
        return Copied(
            nodes=cluster.table.nodes,
            pods=pods,
            namespaces=tuple(cluster.namespaces.values()),
            budgets=self.cache.budgets(),
            provisioning=self._source.provisioning,
            guide=cluster.guide,
            troubles=cluster.troubles.shares,
        )

    @property
    def from_file(self) -> bool:
        """The cluster does not change, and nothing can be written to it."""
        return self._source.api is None

    @property
    def missing(self) -> Sequence[str]:
        """Signs that a file holds only a part of its cluster."""
        return missing(*self.cache.state(), self.cache.budgets()) if self.from_file else ()

    def api(self, wanted_by: str) -> ApiClient:
        if self._source.api is None:
            raise TradewindError(f"{wanted_by} needs a live cluster, not one from a file")
        return self._source.api

    @contextmanager
    def started(self) -> Iterator[None]:
        """The cache is being filled; from a file it is complete at once, prices included."""
        self._source.start()
        try:
            self.market.overlay(self._source.provisioning.overlays)
            self.feed.offer()
            yield
        finally:
            self._source.stop()

    async def follow_files(self, also: Callable[[], None] = lambda: None) -> None:
        refused = partial(self._warn, "ConfigurationRefused")
        table_refused = partial(self._warn, "PriceTableRefused")
        while True:
            self.heartbeats.beat("files", _FILES_SECONDS)
            await asyncio.sleep(_FILES_INTERVAL_SECONDS)
            await attempt(self.settings.refresh, refused)
            await attempt(self.feed.follow, self.settings.market, table_refused)
            if self.synced:
                await attempt(self.feed.report)
            await attempt(also)

    async def follow_prices(self) -> None:
        """Apart from the rest: a slow server of prices keeps nothing else waiting."""
        while True:
            asked = self.settings.market.prometheus
            waits = _MAX_QUERIES * asked.timeout_seconds if asked else 0.0
            self.heartbeats.beat("prices", _SERVERS_SECONDS + waits)
            if self.synced:
                await attempt(self._follow_karpenter)
                await attempt(self.feed.poll)
            await asyncio.sleep(_PRICES_INTERVAL_SECONDS)

    def pools(self) -> Sequence[PoolTemplate]:
        """Nodes that could be added; made anew when nodes, prices or pools change."""
        configured, provisioning = self.settings.planner.pools, self._source.provisioning
        if provisioning.pools == () and all(each.price is not None for each in configured):
            return configured
        of = configured, provisioning, self.cache.snapshot().nodes.cluster.table
        version = self.market.version
        if self._pools is None or not self._pools.made_of(of, version):
            self._pools = _Pools(of, version, pools(configured, provisioning, self.cache, self.market))
        return self._pools.found

    def _follow_karpenter(self) -> None:
        before = self._source.provisioning
        self._source.refresh()
        found = self._source.provisioning
        self.market.overlay(found.overlays)
        self.feed.offer()
        if found.pools != before.pools:
            self.cache.notify()  # pods may have waited for such a pool

    async def follow_learned(self) -> None:
        """For a process that does not learn itself: the rates that the leader of those who do has written."""
        recall = MarketRecall(self.market, self.cache, self.market_memory("--learn"), self.feed.offer)
        while True:
            self.heartbeats.beat("learned", _SERVERS_SECONDS)
            if self.synced:
                await attempt(recall.run)
            await asyncio.sleep(_LEARNED_INTERVAL_SECONDS)

    async def follow_guide(self) -> None:
        """Of a live cluster. One from a file has none: nobody solves there, and scores do without."""
        if self._source.api is None:
            return
        follower = self._guide_follower = GuideFollower(self.cache, GuideMetrics(self.registry))
        reflector = Reflector(self._source.api, [follower.resource(self.namespace)])
        reflector.start()
        try:
            while True:
                self.heartbeats.beat("guide", _FILES_SECONDS)
                await asyncio.sleep(_GUIDE_INTERVAL_SECONDS)
                await attempt(follower.check)
        finally:
            reflector.stop()

    @property
    def journal(self) -> str | None:
        """Of the leading planner's batches, as it came with the guide."""
        return self._guide_follower.journal if self._guide_follower else None

    def site_publisher(self, hub_kubeconfig: Path, namespace: str) -> SitePublisher:
        return publisher(self.cache, hub_kubeconfig, namespace, lambda: self.settings.fleet.site)

    async def follow_site(self, site: SitePublisher, active: Callable[[], bool] = lambda: True) -> None:
        """What the hub is told about this cluster; by one of several replicas, the one that is `active`."""
        while True:
            self.heartbeats.beat("site", _SERVERS_SECONDS)
            if self.synced and active():
                await attempt(site.run)
            await asyncio.sleep(_SITE_INTERVAL_SECONDS)

    def _warn(self, reason: str, text: str) -> None:
        """Beside our own pod; outside a cluster the log alone has to do."""
        pod = identity.pod()
        if self._source.api is not None and pod is not None:
            warn(self._source.api, pod, reason, text)

    def market_memory(self, wanted_by: str) -> MarketMemory:
        return MarketMemory(Client(self.api(wanted_by)), self.namespace, self.market_metrics)
