"""What may change beside the cluster, and is followed: the configuration, the prices, what others learned."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from kubernetes.client import ApiClient

from extender import ourselves
from extender.events import warn_about_ourselves
from extender.market_feed import MarketFeed
from extender.market_memory import MarketMemory
from extender.market_recall import MarketRecall
from extender.metrics import Metrics
from extender.server import attempt
from extender.settings import Settings
from extender.source import Source

_FILES_INTERVAL_SECONDS = 1.0
_PRICES_INTERVAL_SECONDS = 0.5  # to see whether it is time to ask
_LEARNED_INTERVAL_SECONDS = 1.0  # the same


class Upkeep:
    def __init__(self, source: Source, config: Path | None, metrics: Metrics) -> None:
        """Raise TradewindError for a configuration or a price table that cannot be used."""
        self._source = source
        self._metrics = metrics
        self.settings = Settings(config, metrics, source.cache.tell)
        self.feed = MarketFeed(source.market, source.cache, self.settings.market, metrics)

    async def follow_files(self, also: Callable[[], None] = lambda: None) -> None:
        refused = partial(warn_about_ourselves, self._source.api, "ConfigurationRefused")
        table_refused = partial(warn_about_ourselves, self._source.api, "PriceTableRefused")
        while True:
            await asyncio.sleep(_FILES_INTERVAL_SECONDS)
            await attempt(self.settings.refresh, refused)
            await attempt(self.feed.follow, self.settings.market, table_refused)
            also()

    async def follow_prices(self) -> None:
        """Apart from the rest: a slow server of prices keeps nothing else waiting."""
        while True:
            if self._source.synced:
                await attempt(self.feed.poll)
            await asyncio.sleep(_PRICES_INTERVAL_SECONDS)

    async def follow_learned(self, api: ApiClient) -> None:
        """For a process that does not learn itself: the rates that the leader of those who do has written."""
        memory = MarketMemory(api, ourselves.namespace(), self._metrics)
        recall = MarketRecall(self._source.market, memory, self.feed.offer)
        while True:
            if self._source.synced:
                await attempt(recall.run)
            await asyncio.sleep(_LEARNED_INTERVAL_SECONDS)
