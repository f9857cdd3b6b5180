"""Savings and what-if in a process of their own: whoever looks at a page slows no answer to kube-scheduler.

The process is told the cluster in small parts, since whoever pickles does nothing else meanwhile. It ends
with its answer, and gives back the memory that a second cluster takes.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tradewind.config.document import Document
from tradewind.errors import TradewindError
from tradewind.market.settings import MarketSettings
from tradewind.market.terms import Sources
from tradewind.planner.solver_process import SolverLostError, SolverProcess
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import Copied
from tradewind.savings.changes import Changes
from tradewind.savings.difference_report import Summary

MAX_SECONDS = 300.0  # for an answer
_SOLVER_SECONDS = 5.0  # for each plan and each bound in it
_PART = 100  # objects that are told at a time: a millisecond or two
_MEBIBYTE = 2**20
_LEAST_BYTES = 128 * _MEBIBYTE
_MOST_BYTES = 4096 * _MEBIBYTE
_CGROUP = Path("/sys/fs/cgroup")

Item = TypeVar("Item")


class Told(NamedTuple):
    """A cluster, without its nodes and pods, and by what it is looked at."""

    name: str
    copied: Copied
    sources: Sources  # of prices
    document: Document
    max_bytes: int  # that the process may take


class Rendered(NamedTuple):
    content: str  # for a page that has a style of its own
    page: str
    trouble: str


class Refused(NamedTuple):
    text: str


class SavingsWorker(SolverProcess):
    def __init__(self) -> None:
        super().__init__("tradewind.savings.solver")

    def forecast(self, parts: Assembly) -> Rendered:
        """Raise TradewindError where it cannot be had."""
        found: Rendered = self._answer(parts, "forecast", _SOLVER_SECONDS)
        return found

    def what_if(self, parts: Assembly, changes: Changes, document: Document | None, most: int) -> Summary:
        """With the first `most` pods; raise TradewindError where it cannot be had."""
        found: Summary = self._answer(parts, "what_if", _SOLVER_SECONDS, changes, document, most)
        return found

    def _answer(self, parts: Assembly, *question: Any) -> Any:
        max_bytes = _memory_left()
        try:
            self._tell(parts, max_bytes)
            connection = self.ask(*question)
            answer = self.receive(connection, time.monotonic() + MAX_SECONDS)
        except SolverLostError as error:
            limits = f"{MAX_SECONDS:g} s and {max_bytes // _MEBIBYTE} MiB of memory"
            raise TradewindError(f"{error}; no more than {limits} are spent on it") from error
        finally:
            self.close()
        if isinstance(answer, Refused):
            raise TradewindError(answer.text)
        return answer

    def _tell(self, parts: Assembly, max_bytes: int) -> None:
        copied = parts.copied()
        self._say("cluster", _told(parts, copied._replace(nodes=(), pods=()), max_bytes))
        for nodes in _in_parts(copied.nodes):
            self._say("nodes", nodes)
        for pods in _in_parts(copied.pods):
            self._say("pods", pods)

    def _say(self, *words: Any) -> None:
        self.receive(self.ask(*words), time.monotonic() + MAX_SECONDS)


def _told(parts: Assembly, copied: Copied, max_bytes: int) -> Told:
    """The sources have the prices that the document's files and servers gave: neither is looked at again."""
    document = parts.settings.document.model_copy(update={"market": MarketSettings()})
    return Told(parts.name, copied, parts.market.sources, document, max_bytes)


def _in_parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), _PART):
        yield items[start : start + _PART]


def _memory_left() -> int:
    """Half of what the container may still take: the process starts solvers, which get as much."""
    try:
        most = (_CGROUP / "memory.max").read_text().strip()
        taken = int((_CGROUP / "memory.current").read_text())
        statistics = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return _MOST_BYTES
    if most == "max":
        return _MOST_BYTES
    left = (int(most) - taken + int(statistics.get("inactive_file", 0))) // 2
    if left < _LEAST_BYTES:
        raise TradewindError(
            f"{left // _MEBIBYTE} MiB of memory are left for it here; 'kubectl tradewind page' works it out "
            "where you are"
        )
    return min(left, _MOST_BYTES)
