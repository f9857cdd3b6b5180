"""The composition root: a source and a configuration become cache, market and policies.

Every command is put together here, so that a setting means the same to all of them.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry

from tradewind.cluster.cache import Cache
from tradewind.cluster.freshness import Freshness
from tradewind.cluster.metrics import WatchView
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
from tradewind.runtime import identity
from tradewind.runtime.server import attempt
from tradewind.runtime.source import Source

_FILES_INTERVAL_SECONDS = 1.0
_PRICES_INTERVAL_SECONDS = 0.5  # to see whether it is time to ask
_LEARNED_INTERVAL_SECONDS = 1.0  # the same


class Assembly:
    def __init__(self, source: Source, config: Path | None, namespace: str | None = None) -> None:
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
        self._source = source
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

    @property
    def watches(self) -> Sequence[WatchView]:
        return self._source.watches

    def api(self, wanted_by: str) -> ApiClient:
        if self._source.api is None:
            raise TradewindError(f"{wanted_by} needs a live cluster, not one from a file")
        return self._source.api

    @contextmanager
    def started(self) -> Iterator[None]:
        """The cache is being filled; from a file it is complete at once, prices included."""
        self._source.start()
        try:
            self.feed.offer()
            yield
        finally:
            self._source.stop()

    async def follow_files(self, also: Callable[[], None] = lambda: None) -> None:
        refused = partial(self._warn, "ConfigurationRefused")
        table_refused = partial(self._warn, "PriceTableRefused")
        while True:
            await asyncio.sleep(_FILES_INTERVAL_SECONDS)
            await attempt(self.settings.refresh, refused)
            await attempt(self.feed.follow, self.settings.market, table_refused)
            if self.synced:
                await attempt(self.feed.report)
            also()

    async def follow_prices(self) -> None:
        """Apart from the rest: a slow server of prices keeps nothing else waiting."""
        while True:
            if self.synced:
                await attempt(self.feed.poll)
            await asyncio.sleep(_PRICES_INTERVAL_SECONDS)

    async def follow_learned(self) -> None:
        """For a process that does not learn itself: the rates that the leader of those who do has written."""
        recall = MarketRecall(self.market, self.market_memory("--learn"), self.feed.offer)
        while True:
            if self.synced:
                await attempt(recall.run)
            await asyncio.sleep(_LEARNED_INTERVAL_SECONDS)

    def _warn(self, reason: str, text: str) -> None:
        """Beside our own pod; outside a cluster the log alone has to do."""
        pod = identity.pod()
        if self._source.api is not None and pod is not None:
            warn(self._source.api, pod, reason, text)

    def market_memory(self, wanted_by: str) -> MarketMemory:
        return MarketMemory(Client(self.api(wanted_by)), self.namespace, self.market_metrics)
