"""Moves for money and safety, live: the leader looks for a set, or goes on with one."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.move_hands import MoveHands
from tradewind.planner.journal import Emptying
from tradewind.planner.moves.causes import Cause, because
from tradewind.planner.moves.drain import Drain, InFlight, Phase
from tradewind.planner.moves.mover import Advice, Mover
from tradewind.planner.moves.world import World

_log = logging.getLogger(__name__)


class MoveNote(NamedTuple):
    """What is said beside a pod."""

    pod: Pod
    reason: str
    text: str


class Moves:
    def __init__(
        self,
        cache: Cache,
        settings: Settings,
        hands: MoveHands,
        metrics: PlanMetrics,
        promised: Callable[[], Mapping[str, Pod]] = dict,
        *,
        clock: Callable[[], float] = time.time,
        passing: Callable[[], float] = time.monotonic,
    ) -> None:
        """`promised`: pods that are planned and not written yet, by UID, as on their nodes."""
        self._promised = promised
        self._clock = clock
        self._passing = passing
        self._offset: float | None = None  # of the one clock to the other when we began to lead
        self._cache = cache
        self._settings = settings
        self._hands = hands
        self._metrics = metrics
        self._mover = Mover(hands, self._look, settings.policy_of, lambda: settings.planner)
        self._trouble = ""

    def rest(self) -> None:
        """Another leads, or nobody may."""
        self._mover.forget()
        self._offset = None

    def in_flight(self, waiting: Sequence[Pod]) -> InFlight:
        return self._mover.in_flight(waiting)

    def emptying(self) -> Emptying | None:
        drain = self._mover.drain
        if drain is None:
            return None
        return Emptying(drain.node, len(drain.moves), sum(bool(each.placed) for each in drain.moves))

    def run(self) -> list[MoveNote]:
        """One round, and what is to be said about it; in the shadow nothing is moved or advised."""
        if self._settings.shadow:
            self.rest()
            return []
        told = self._mover.run()
        self._complain(told.trouble)
        notes: list[MoveNote] = []
        if told.advice is not None:
            self._metrics.advised(told.advice)
            published = self._hands.publish("\n".join(map(_line, told.advice)))
            if not published and self._mover.drain is None:
                self._mover.forget()  # somebody else may have written to the record: read it again
            if self._settings.planner.moves.mode == "advise":
                notes += [note for each in told.advice if not each.trouble for note in _advised(each)]
        if told.ended is not None:
            self._metrics.move_sets.labels(told.ended.phase.value, told.ended.cause.value).inc()
            self._cache.notify()  # replacements may go anywhere now
            notes += _ended(told.ended)
        self._metrics.moving.set(self._mover.drain is not None)
        return notes

    def _look(self) -> World:
        # Asked first: what is written in between is in both, and what comes later is not in time.
        promised = self._promised()
        return World(*self._cache.state(), self._now(), promised)

    def _now(self) -> float:
        """While we lead only the passing of time counts: a clock that is set must not end budgets early."""
        if self._offset is None:
            self._offset = self._clock() - self._passing()
        return self._passing() + self._offset

    def _complain(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            _log.warning("no pods are moved: %s", trouble)
        self._trouble = trouble


def _advised(each: Advice) -> Iterator[MoveNote]:
    for move in each.chosen.moves:
        if each.cause is not Cause.MONEY:
            why = because(each.cause, move.pod.node_name)
            yield MoveNote(move.pod, "MoveAdvised", f"It would be safer on {move.target}: {why}")
            continue
        text = (
            f"Moved to {move.target}, with {len(each.chosen.moves) - 1} others, "
            f"it would leave {each.chosen.node} empty"
        )
        yield MoveNote(move.pod, "MoveAdvised", f"{text}: ${each.chosen.price:.4g}/h less")


def _ended(drain: Drain) -> Iterator[MoveNote]:
    if drain.phase is Phase.DONE:
        done = (drain.cause.value, len(drain.moves), drain.node, drain.price)
        _log.info("moved for %s: %d pods of node %s, $%.4g/h", *done)
    else:
        _log.info(
            "moving pods of node %s for %s was given up: %s", drain.node, drain.cause.value, drain.reason
        )
    for each in drain.moves:
        why = because(drain.cause, each.pod.node_name)
        if each.placed:
            text = f"Evicted, and replaced on {each.target}: {why}"
            yield MoveNote(each.pod, "Moved", text)
        elif drain.reason:
            yield MoveNote(each.pod, "MoveGivenUp", f"It is not moved although {why}: {drain.reason}")


def _line(each: Advice) -> str:
    moves = ", ".join(f"{move.pod} to {move.target}" for move in each.chosen.moves)
    verdict = f" (not now: {each.trouble})" if each.trouble else ""
    if each.cause is not Cause.MONEY:
        return f"{each.cause}: leave {each.chosen.node} by moving {moves}{verdict}"
    return f"${each.chosen.price:.4g}/h: empty {each.chosen.node} by moving {moves}{verdict}"
