"""The solvers of plans, in a process of their own.

Nothing outside of that process, `tradewind.planner.solver`, loads them.
"""

import math
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from tradewind.planner.problem import Assignment, Options, Outcome, Problem
from tradewind.planner.settings import Engine
from tradewind.planner.solver_process import SolverLostError, SolverProcess

# What a solver may take beyond its deadline to come to an end before it is killed.
_GRACE_SECONDS = 1.5
_LOOK_SECONDS = 0.02


class Result(NamedTuple):
    outcome: Outcome
    failure: str  # empty if the solvers came to their end


class Worker(SolverProcess):
    """Started with the first problem, and again after it was lost; `close` ends it."""

    def __init__(self) -> None:
        super().__init__("tradewind.planner.solver")

    def solve(
        self,
        problem: Problem,
        baseline: Assignment,
        seconds: float,
        *,
        patience: float = 0.0,
        idle: float = math.inf,
        enough: Callable[[], bool] = lambda: False,
        engine: Engine = "auto",
    ) -> Result:
        """The best that was reported in time; the baseline where there was none.

        With `patience`, so many seconds more may be spent while pods are without a place; `idle` as
        `Progress` says. As soon as there was `enough` of it, the solvers are asked to come to their end.
        """
        outcome = Outcome(baseline, "greedy")
        try:
            connection = self.ask("optimise", problem, baseline, seconds, Options(patience, idle, engine))
            deadline = time.monotonic() + seconds + patience + _GRACE_SECONDS
            for outcome in self._outcomes(connection, deadline, enough):  # noqa: B007  the last is the best
                pass
        except SolverLostError as error:
            return Result(outcome, str(error))
        return Result(outcome, "")

    def _outcomes(
        self, connection: Connection, deadline: float, enough: Callable[[], bool]
    ) -> Iterator[Outcome]:
        told = False
        while True:
            while not told and time.monotonic() < deadline:
                if told := enough():
                    self.hurry(connection)
                elif connection.poll(_LOOK_SECONDS):
                    break
            message = self.receive(connection, deadline)
            if not isinstance(message, Outcome):
                return
            yield message

    def lower_bound(self, problem: Problem, assignment: Assignment, seconds: float) -> float | None:
        """See `tradewind.planner.bound`; None where it could not be had in time."""
        try:
            connection = self.ask("lower_bound", problem, assignment, seconds, None)
            bound = self.receive(connection, time.monotonic() + seconds + _GRACE_SECONDS)
            self.receive(connection, time.monotonic() + _GRACE_SECONDS)
        except SolverLostError:
            return None
        return bound if isinstance(bound, float) else None
