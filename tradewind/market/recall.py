"""Reads the learned rates that the leader has written, for every process that does not learn itself."""

import logging
import time
from collections.abc import Callable

from tradewind.cluster.cache import Cache
from tradewind.errors import ApiError
from tradewind.market.learned import Memory
from tradewind.market.market import Market
from tradewind.market.memory import MarketMemory

# The leader writes some seconds after an interruption, and otherwise rarely.
_READ_SECONDS = 10.0

_log = logging.getLogger(__name__)


class MarketRecall:
    """Only reads."""

    def __init__(self, market: Market, cache: Cache, memory: MarketMemory, offer: Callable[[], None]) -> None:
        """`offer` brings what the market has learned into the cluster state."""
        self._market = market
        self._cache = cache
        self._memory = memory
        self._offer = offer
        self._taken: Memory | None = None
        self._next_read = 0.0
        self._trouble = ""

    def run(self) -> None:
        """Read again if it is time to."""
        if time.monotonic() < self._next_read:
            return
        self._next_read = time.monotonic() + _READ_SECONDS
        memory = self._read()
        if memory is None or memory == self._taken:
            return
        self._taken = memory
        self._market.learn(memory.evidence, memory.medians())
        self._cache.follow_troubles(memory.troubles)
        self._offer()

    def _read(self) -> Memory | None:
        try:
            memory = self._memory.read()
        except ApiError as error:
            if str(error) != self._trouble:
                _log.warning("learned rates cannot be read, the last known stay in force: %s", error)
            self._trouble = str(error)
            return None
        self._trouble = ""
        return memory
