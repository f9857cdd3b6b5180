"""What-if as a form: a question is worked out once, one after the other, and its answer kept for a while."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from tradewind.errors import TradewindError
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.savings import difference_report
from tradewind.savings.difference import Difference
from tradewind.savings.difference_report import Figure
from tradewind.savings.what_if import KINDS, read_changes, what_if

_SECONDS = 5.0  # for each of the two plans
_KEPT = 16
_KEPT_SECONDS = 60.0
_MAX_LETTERS = 2000


@dataclass(frozen=True, kw_only=True)
class Moved:
    pod: str
    now: str
    then: str


@dataclass(frozen=True, kw_only=True)
class Supposed:
    """What came of a question."""

    made: float = 0.0  # seconds since 1970; 0: nothing was asked
    refused: str = ""
    figures: Sequence[Figure] = ()
    moved: Sequence[Moved] = ()
    unplaced: Mapping[str, str] | None = None
    notes: Sequence[str] = ()


class WhatIf:
    def __init__(self, parts: Assembly) -> None:
        self._parts = parts
        self._turns = asyncio.Lock()
        self._kept: LRUCache[tuple[str, ...], Supposed] = LRUCache(_KEPT)

    async def ask(self, written: Mapping[str, str]) -> Supposed:
        """Several changes of a kind are separated by semicolons."""
        key = tuple(written.get(kind, "").strip() for kind in KINDS)
        if not any(key):
            return Supposed()
        if sum(map(len, key)) > _MAX_LETTERS:
            return Supposed(refused=f"that is longer than {_MAX_LETTERS} letters")
        async with self._turns:
            found = self._kept.get(key)
            if found is None or self._old(found):
                found = self._kept[key] = await asyncio.to_thread(self._ask, key)
            return found

    def _old(self, found: Supposed) -> bool:
        return not self._parts.from_file and time.time() - found.made > _KEPT_SECONDS

    def _ask(self, key: tuple[str, ...]) -> Supposed:
        worker, made = Worker(), time.time()
        try:
            changes = read_changes({kind: _several(text) for kind, text in zip(KINDS, key, strict=True)})
            return _told(made, what_if(self._parts, changes, worker, _SECONDS))
        except TradewindError as error:
            return Supposed(made=made, refused=str(error).removeprefix("--"))
        finally:
            worker.close()


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def _told(made: float, told: Difference) -> Supposed:
    return Supposed(
        made=made,
        figures=difference_report.figures(told),
        moved=[
            Moved(
                pod=each.pod,
                now=each.now or "-",
                then=each.then or difference_report.without(each.pod, told.then),
            )
            for each in told.elsewhere
        ],
        unplaced=difference_report.newly_unplaced(told),
        notes=difference_report.notes(told),
    )
