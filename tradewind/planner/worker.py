"""The solvers' own process: one that crashes, hangs or runs out of memory costs a plan and nothing else.

Nothing outside of that process, `tradewind.planner.solver`, loads them.
"""

import math
import os
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tradewind.planner.problem import Assignment, Failure, Outcome, Problem

# What a solver may take beyond its deadline to come to an end before it is killed.
_GRACE_SECONDS = 1.5
# What its process may take to start and load them, on a busy machine.
_START_SECONDS = 60.0


class SolverLostError(Exception):
    """The process ended, did not answer in time, or said that it failed."""


class Result(NamedTuple):
    outcome: Outcome
    failure: str  # empty if the solvers came to their end


class Worker:
    """Started with the first problem, and again after it was lost; `close` ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._loaded = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Ahead of the first problem, so that it need not wait for the solvers to load."""
        self._running()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._loaded = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def solve(
        self,
        problem: Problem,
        baseline: Assignment,
        seconds: float,
        patience: float = 0.0,
        idle: float = math.inf,
    ) -> Result:
        """The best that was reported in time; the baseline where there was none.

        With `patience`, so many seconds more may be spent while pods are without a place; `idle` as
        `Progress` says.
        """
        outcome = Outcome(baseline, "greedy")
        try:
            connection = self._ask("optimise", problem, baseline, seconds, patience, idle)
            deadline = time.monotonic() + seconds + patience + _GRACE_SECONDS
            while isinstance(message := self._receive(connection, deadline), Outcome):
                outcome = message
        except SolverLostError as error:
            return Result(outcome, str(error))
        return Result(outcome, "")

    def lower_bound(self, problem: Problem, assignment: Assignment, seconds: float) -> float | None:
        """See `tradewind.planner.bound`; None where it could not be had in time."""
        try:
            connection = self._ask("lower_bound", problem, assignment, seconds, 0.0, math.inf)
            bound = self._receive(connection, time.monotonic() + seconds + _GRACE_SECONDS)
            self._receive(connection, time.monotonic() + _GRACE_SECONDS)
        except SolverLostError:
            return None
        return bound if isinstance(bound, float) else None

    def _running(self) -> Connection:
        if self._process is None or self._connection is None or self._process.poll() is not None:
            self.close()
            ours, theirs = socket.socketpair()
            with theirs:
                self._connection = Connection(ours.detach())
                # Not by multiprocessing, which would load the parent's main module once more.
                command = [sys.executable, "-m", "tradewind.planner.solver", str(theirs.fileno())]
                paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
                environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)  # noqa: S603
        return self._connection

    def _ask(self, *request: Any) -> Connection:
        """Send it, and wait until the process has it: loading the solvers is not part of their time."""
        try:
            connection = self._running()
            connection.send(request)
        except OSError as error:
            self.close()
            raise SolverLostError(f"the solver could not be reached: {error}") from error
        deadline = time.monotonic() + _START_SECONDS
        if not self._loaded:
            self._receive(connection, deadline)
            self._loaded = True
        self._receive(connection, deadline)
        return connection

    def _receive(self, connection: Connection, deadline: float) -> Any:
        try:
            if not connection.poll(max(deadline - time.monotonic(), 0)):
                self.close()
                raise SolverLostError("the solver was not done in time")
            message = connection.recv()
        except (OSError, EOFError) as error:
            code = self._exit_code()
            self.close()
            raise SolverLostError(f"the solver ended with exit code {code}") from error
        if isinstance(message, Failure):
            raise SolverLostError(f"the solver failed: {message.text}")
        return message

    def _exit_code(self) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None
