"""Questions that take long: one after the other in a process of their own, with answers kept for a while."""

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from cachetools import LRUCache

from tradewind.errors import TradewindError
from tradewind.runtime.assembly import Assembly
from tradewind.savings.worker import SavingsWorker

_KEPT = 16
_KEPT_SECONDS = 60.0
_MAX_WAITING = 4  # people, each for the answers to those before

Result = TypeVar("Result")


class BusyError(TradewindError):
    """Too many wait already."""


class Answer(NamedTuple, Generic[Result]):
    made: float  # seconds since 1970
    found: Result


class Calculations:
    def __init__(self, parts: Assembly) -> None:
        self._parts = parts
        self._turns = asyncio.Lock()
        self._waiting = 0
        self._kept: LRUCache[Hashable, Answer[object]] = LRUCache(_KEPT)

    async def ask(self, key: Hashable, work: Callable[[SavingsWorker], Result]) -> Answer[Result]:
        """Whoever asks the same meanwhile gets the same answer; raise TradewindError where there is none."""
        if self._waiting >= _MAX_WAITING:
            raise BusyError(
                "others are asking as well, and one question is worked out at a time: try again in a minute"
            )
        self._waiting += 1
        try:
            async with self._turns:
                found = self._kept.get(key)
                if found is None or self._old(found):
                    found = self._kept[key] = Answer(time.time(), await _worked_out(work))
                return found  # type: ignore[return-value]  # by its key it is the answer to this question
        finally:
            self._waiting -= 1

    def _old(self, found: Answer[object]) -> bool:
        return not self._parts.from_file and time.time() - found.made > _KEPT_SECONDS


async def _worked_out(work: Callable[[SavingsWorker], Result]) -> Result:
    worker = SavingsWorker()
    try:
        return await asyncio.to_thread(work, worker)
    except asyncio.CancelledError:  # the server stops: whoever waits for its threads must not wait for this
        worker.kill()
        raise
