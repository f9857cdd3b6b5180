"""The newest batches of the leading planner, for people in other processes: a few figures of each."""

import math
import threading
from collections import deque
from collections.abc import Sequence

import msgspec
import numpy as np

from tradewind.planner.planner import PlanResult
from tradewind.planner.problem import Problem, placed_counts

MAX_BATCHES = 50
_VERSION = 1
# Fifty batches are a sixth of it.
_MAX_BYTES = 64 * 1024


class BatchNote(msgspec.Struct, frozen=True, rename="camel"):
    """One batch, and what its plan costs."""

    at: float  # seconds since 1970, when it was planned
    placed: int
    unplaced: int
    waves: int
    engine: str
    seconds: float
    in_flight: int  # pods of earlier batches, still on their way
    cost: float  # dollars an hour of the nodes in use afterwards; nodes where none has a price
    bound: float  # below which no plan of this batch can be


class Emptying(msgspec.Struct, frozen=True, rename="camel"):
    """A node whose pods are being moved away."""

    node: str
    pods: int
    moved: int


class Record(msgspec.Struct, frozen=True, rename="camel"):
    version: int
    priced: bool
    batches: list[BatchNote]  # the newest last
    emptying: Emptying | None = None


_decoder = msgspec.json.Decoder(Record)


class Journal:
    """Written by the threads that plan and move, read by the one that publishes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: deque[BatchNote] = deque(maxlen=MAX_BATCHES)
        self._priced = False
        self._emptying: Emptying | None = None

    def resume(self, text: str) -> None:
        """Go on after the batches of the leader before, as far as they can be read."""
        try:
            before = decode(text)
        except ValueError:
            return
        with self._lock:
            if not self._batches:
                self._priced = before.priced
            if self._priced == before.priced:
                known = {each.at for each in self._batches}
                self._batches.extendleft(
                    [each for each in reversed(before.batches) if each.at not in known][: self._left]
                )

    def add(self, note: BatchNote, *, priced: bool) -> None:
        with self._lock:
            if priced != self._priced:
                self._batches.clear()  # dollars and nodes are no curve
            self._priced = priced
            self._batches.append(note)

    def empty(self, emptying: Emptying | None) -> None:
        with self._lock:
            self._emptying = emptying

    @property
    def _left(self) -> int:
        return MAX_BATCHES - len(self._batches)

    def encoded(self) -> str:
        with self._lock:
            record = Record(_VERSION, self._priced, list(self._batches), self._emptying)
        return msgspec.json.encode(record).decode()


def decode(text: str) -> Record:
    """Raise ValueError for what this version did not write."""
    if len(text) > _MAX_BYTES:
        raise ValueError(f"{len(text)} bytes, more than {_MAX_BYTES}")
    record = _decoder.decode(text)
    if record.version != _VERSION:
        raise ValueError(f"version {record.version}, and this is version {_VERSION}")
    if len(record.batches) > MAX_BATCHES or not all(map(_sane, record.batches)):
        raise ValueError("too many batches, or a number in them that is not finite, or less than 0")
    return record


def note(result: PlanResult, *, at: float, seconds: float, in_flight: int) -> BatchNote:
    plan, problem = result.plan, result.batch.problem
    return BatchNote(
        at=round(at, 1),
        placed=len(plan.placements),
        unplaced=len(plan.unplaced),
        waves=len({each.wave for each in plan.placements}),
        engine=plan.engine,
        seconds=round(seconds, 3),
        in_flight=in_flight,
        cost=round(plan.hourly_cost, 6),
        bound=round(bound(problem, placed_counts(problem, result.assignment)), 6),
    )


def bound(problem: Problem, counts: Sequence[int]) -> float:
    """Dollars an hour of all nodes in use, from one resource at a time: nobody waits for it.

    What the nodes in use have no room for needs another at least, and none sells a unit for less than the
    cheapest.
    """
    kept = float(problem.price[problem.in_use].sum())
    if not any(counts) or problem.in_use.all():
        return kept
    room = np.maximum(problem.free, 0)
    asked = sum(
        (count * each.requests for count, each in zip(counts, problem.classes, strict=True)),
        start=np.zeros(len(room)),
    )
    missing = np.maximum(asked - room[:, problem.in_use].sum(axis=1), 0.0)
    other = room[:, ~problem.in_use]
    price = np.broadcast_to(problem.price[~problem.in_use], other.shape)
    unit = np.divide(price, other, out=np.full(other.shape, np.inf), where=other > 0).min(axis=1)
    if not missing.any():
        return kept
    sold = (missing > 0) & np.isfinite(unit)
    parts = float((missing[sold] * unit[sold]).max(initial=0.0))
    return kept + max(parts, float(problem.price[~problem.in_use].min()))


def _sane(each: BatchNote) -> bool:
    numbers = (
        *(each.at, each.placed, each.unplaced, each.waves),
        *(each.seconds, each.in_flight, each.cost, each.bound),
    )
    return all(0 <= number < math.inf for number in numbers)
