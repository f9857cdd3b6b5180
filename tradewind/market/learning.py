"""Watches nodes come and go, and tells the market how often those of a pool are interrupted.

Beside it, on which nodes starts of pods go wrong.
"""

import logging
import time
from collections.abc import Callable, Sequence

from tradewind.cluster.cache import Cache
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.starts import Outcome
from tradewind.errors import ApiError
from tradewind.market.karpenter import Disruptions, Interrupted
from tradewind.market.learned import Learner
from tradewind.market.market import Market
from tradewind.market.memory import MarketMemory
from tradewind.market.metrics import MarketMetrics
from tradewind.market.recall import MarketRecall

# Without news, time still passes: exposure grows and old interruptions fade.
_LOOK_SECONDS = 60.0
# The state is a sum over time that goes on from any moment, so that rare writes lose next to nothing.
_WRITE_SECONDS = 600.0
_WRITE_AFTER_NEWS_SECONDS = 10.0

LEASE = "tradewind-market"

_log = logging.getLogger(__name__)


class MarketLearning:
    """Learns and writes while it leads; any other replica reads what the leader has written."""

    def __init__(
        self,
        market: Market,
        cache: Cache,
        memory: MarketMemory,
        metrics: MarketMetrics,
        *,
        interrupted: Interrupted,
        starts: Callable[[], Sequence[Outcome]],
        offer: Callable[[], None],
        leading: Callable[[], bool],
    ) -> None:
        """`offer` brings what the market has learned into the cluster state; `interrupted` asks Karpenter.

        `starts` tells how starts of pods went since it was last asked.
        """
        self._starts = starts
        self._offer = offer
        self._leading = leading
        self._market = market
        self._cache = cache
        self._memory = memory
        self._metrics = metrics
        self._disruptions = Disruptions(interrupted)
        self._recall = MarketRecall(market, cache, memory, offer)
        self._learner: Learner | None = None  # while it leads, and has read what was kept
        self._seen: object = None  # the table of nodes at the last look
        self._next_look = 0.0
        self._next_write = 0.0

    def run(self) -> None:
        """One round: look at the nodes if any changed or it is time to, and write if there is news."""
        leading = self._leading()
        starts = self._starts()  # those of others are the leader's to count
        self._metrics.learning_leader.set(leading)
        if not leading:
            self._learner = None
            self._recall.run()
            return
        learner = self._learner or self._take_over()
        if learner is not None:
            self._learn(learner, starts)

    def save(self) -> None:
        """Write once more before exiting, so that the next leader resumes from here."""
        if self._learner is not None and self._learner.at is not None and self._leading():
            self._keep(self._learner)

    def _learn(self, learner: Learner, starts: Sequence[Outcome]) -> None:
        now = time.monotonic()
        if learner.history.record(starts):
            self._next_look = now
            self._next_write = min(self._next_write, now + _WRITE_AFTER_NEWS_SECONDS)
        learner.half_life_hours = self._market.settings.learned.half_life_hours
        nodes = self._cache.snapshot().nodes
        table = nodes.cluster.table
        if table is not self._seen or now >= self._next_look or self._disruptions.due:
            self._seen, self._next_look = table, now + _LOOK_SECONDS
            if self._look(learner, nodes):
                self._next_write = min(self._next_write, now + _WRITE_AFTER_NEWS_SECONDS)
        if now >= self._next_write:
            self._next_write = now + _WRITE_SECONDS
            self._keep(learner)

    def _take_over(self) -> Learner | None:
        """Resume from the last write; nodes that have gone since then are interruptions."""
        try:
            memory = self._memory.read()
        except ApiError as error:
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + _LOOK_SECONDS
                _log.warning("not learning until the learned rates can be read: %s", error)
            return None
        learner = Learner(self._market.settings.learned.half_life_hours)
        if memory is not None:
            learner.restore(memory)
            _log.info("resumed the learned rates of %d pools", len(memory.pools))
        self._learner = learner
        self._next_look = 0.0
        self._next_write = time.monotonic() + _WRITE_AFTER_NEWS_SECONDS
        return learner

    def _look(self, learner: Learner, nodes: Nodes) -> bool:
        """Whether there was a new interruption."""
        sightings = self._disruptions.resolve(self._market.sightings(nodes.cluster.table.nodes))
        news = learner.observe(time.time(), sightings, self._market.known_prices(nodes))
        self._market.learn(learner.evidence, learner.prices.medians())
        self._cache.follow_troubles(learner.history.shares())
        if news:
            self._offer()
            self._metrics.interruptions.inc(news)
            _log.info("recorded %d interruptions", news)
        return news > 0

    def _keep(self, learner: Learner) -> None:
        """Merge before writing: a former leader may have written once more."""
        try:
            kept = self._memory.read()
        except ApiError as error:
            _log.warning("learned rates not written, will retry: %s", error)
            self._metrics.memory_writes.labels("failed").inc()
            return
        if kept is not None:
            learner.merge(kept)
            self._market.learn(learner.evidence, learner.prices.medians())
        self._memory.write(learner.state())
