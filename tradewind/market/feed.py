"""Follows the price table and Prometheus, and publishes the resulting offers in the cluster state."""

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tradewind.cluster.cache import Cache
from tradewind.cluster.in_use import nodes_in_use
from tradewind.cluster.snapshot import Snapshot
from tradewind.errors import PriceSourceError, PriceTableError
from tradewind.kube.mounts import Watched
from tradewind.market import table
from tradewind.market.market import Market
from tradewind.market.metrics import MarketMetrics
from tradewind.market.prometheus import Prometheus
from tradewind.market.quotes import GUESSED, Origin
from tradewind.market.settings import MarketSettings, PrometheusSettings
from tradewind.market.table import PriceTable

# Looks at every pod.
_COST_INTERVAL_SECONDS = 15.0

_log = logging.getLogger(__name__)


class MarketFeed:
    """`follow` and `poll` may run at the same time, in threads of their own."""

    def __init__(
        self, market: Market, cache: Cache, settings: MarketSettings, metrics: MarketMetrics
    ) -> None:
        """Raise PriceTableError for a broken table: at the start there is no last good one."""
        self._market = market
        self._cache = cache
        self._metrics = metrics
        self._settings = settings
        self._watched = _watched(settings.table)
        self._table = table.read(settings.table) if settings.table else PriceTable()
        self._offered: tuple[object, int] | None = None  # the nodes and the market's version
        self._offering = threading.Lock()
        self._counted: Counter[str] = Counter()
        self._next_cost = 0.0
        self._prometheus: Prometheus | None = None
        self._asked: PrometheusSettings | None = None
        self._next_poll = 0.0
        self._polled = False
        self._trouble: tuple[str, ...] = ()
        self._shares: Mapping[str, float] = {}  # of nodes by the source of their price
        self._covered: tuple[bool, bool] | None = None  # some price, all prices; as last logged
        market.configure(settings, self._table)

    def follow(self, settings: MarketSettings, on_refused: Callable[[str], None]) -> None:
        """Apply changed settings, a changed table and changed nodes."""
        self._take_settings(settings, on_refused)
        self.offer()
        self._count_refusals()
        if time.monotonic() >= self._next_cost:
            self._next_cost = time.monotonic() + _COST_INTERVAL_SECONDS
            self._count_cost()

    def offer(self) -> None:
        """Publish offers; does nothing while neither nodes nor market have changed."""
        with self._offering:  # or an older look at the market could come after a newer one
            self._offer()

    def report(self) -> None:
        """Log how many nodes have a price: at the start, and when that becomes none, some or all."""
        waiting = self._settings.prometheus is not None and not self._polled
        guessed = sum(self._shares.get(origin, 0.0) for origin in GUESSED)
        covered = guessed < 1, guessed == 0
        if waiting or not any(self._shares.values()) or covered == self._covered:
            return
        self._covered = covered
        _log.log(logging.INFO if all(covered) else logging.WARNING, "%s", self._market.price_coverage())

    def poll(self) -> None:
        """Query Prometheus if it is time to; on failure the last prices stay in force."""
        wanted = self._settings.prometheus
        if wanted != self._asked:
            self._connect(wanted)
        if self._prometheus is None or wanted is None or time.monotonic() < self._next_poll:
            return
        self._next_poll = time.monotonic() + wanted.interval_seconds
        answers = self._prometheus.ask()
        self._polled = True
        self._metrics.polls.labels("failed" if answers.errors else "answered").inc()
        self._tell(answers.errors)
        if answers.samples or answers.offerings:
            self._market.quote(answers.samples, answers.offerings)
            self.offer()

    def observe(self) -> None:
        """Update the age metrics; called before a scrape."""
        for source, age in self._market.ages(time.time()).items():
            self._metrics.age.labels(source).set(age)

    def _offer(self) -> None:
        version, nodes = self._market.version, self._cache.snapshot().nodes.cluster.table
        if self._offered is not None and self._offered[0] is nodes and self._offered[1] == version:
            return
        changed = self._cache.update_offers(nodes.nodes, self._market.offers(nodes.nodes))
        self._offered = nodes, version
        _log.debug("new offers for %d of %d nodes", changed, len(nodes))
        implausible = self._market.implausible()
        for origin in (Origin.NODE, Origin.TABLE, Origin.PROMETHEUS):
            self._metrics.implausible.labels(origin).set(implausible.get(origin, 0))
        coverage = self._market.coverage()
        for value, shares in coverage.items():
            for source, share in shares.items():
                self._metrics.coverage.labels(value, source).set(share)
        self._shares = coverage["price"]
        for source, share in self._shares.items():
            self._metrics.nodes.labels(source).set(round(share * len(nodes)))

    def _take_settings(self, settings: MarketSettings, on_refused: Callable[[str], None]) -> None:
        if settings == self._settings and not self._watched.changed():
            return
        if settings.table != self._settings.table:
            self._watched = _watched(settings.table)
        self._settings = settings
        try:
            self._table = table.read(settings.table) if settings.table else PriceTable()
        except PriceTableError as error:
            self._metrics.table_reloads.labels("refused").inc()
            _log.error("price table refused, the previous one stays in force: %s", error)
            on_refused(str(error))
        else:
            self._metrics.table_reloads.labels("taken").inc()
        self._market.configure(settings, self._table)

    def _connect(self, wanted: PrometheusSettings | None) -> None:
        if self._prometheus is not None:
            self._prometheus.close()
        self._prometheus, self._asked, self._next_poll = None, wanted, 0.0
        if wanted is None:
            self._market.forget_quotes()
            return
        try:
            self._prometheus = Prometheus(wanted)
        except PriceSourceError as error:
            self._asked = None  # the files may come yet
            self._tell((str(error),))

    def _tell(self, trouble: tuple[str, ...]) -> None:
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            _log.warning("querying Prometheus failed, the last prices stay in force: %s", "; ".join(trouble))
        else:
            _log.info("Prometheus answers again")

    def _count_refusals(self) -> None:
        for source, count in self._market.refusals.counts.items():
            self._metrics.refused.labels(source).inc(count - self._counted[source])
            self._counted[source] = count

    def _count_cost(self) -> None:
        snapshot = self._cache.snapshot()
        used = _used(self._cache, snapshot)
        prices = np.nan_to_num(snapshot.nodes.price)
        total, of_used = math.fsum(prices), math.fsum(prices[used])
        for nodes, cost in (("all", total), ("used", of_used), ("idle", max(0.0, total - of_used))):
            self._metrics.cost.labels(nodes).set(cost)


def _used(cache: Cache, snapshot: Snapshot) -> list[int]:
    names = nodes_in_use(cache.all_pods())
    return [row for name, row in snapshot.row_of.items() if name in names]


def _watched(path: Path | None) -> Watched:
    return Watched([path] if path else [])
