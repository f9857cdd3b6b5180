"""Pages kept for a few seconds: rendering slows the answers to kube-scheduler down, however many look."""

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from cachetools import LRUCache

_KEPT = 32

Shown = TypeVar("Shown")


class _Render(NamedTuple, Generic[Shown]):
    ends: float  # by the monotonic clock
    shown: Shown


class Renders:
    """In a thread, one at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turns = asyncio.Lock()
        self._kept: LRUCache[Hashable, _Render[object]] = LRUCache(_KEPT)

    async def ask(self, seconds: float, render: Callable[..., Shown], *arguments: Hashable) -> Shown:
        """What `render` answers, or answered to the same arguments no more than so many seconds ago."""
        key = (render, *arguments)
        async with self._turns:
            found = self._kept.get(key)
            if found is None or self._clock() > found.ends:
                shown = await asyncio.to_thread(render, *arguments)
                found = self._kept[key] = _Render(self._clock() + seconds, shown)
            return found.shown  # type: ignore[return-value]  # by its key it is what this function answered
