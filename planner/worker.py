"""The solvers' own process: one that crashes, hangs or runs out of memory costs a plan and nothing else."""

import multiprocessing
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from planner.engine import Outcome, optimise
from planner.problem import Assignment, Problem

# What a solver may take beyond its deadline to come to an end before it is killed.
_GRACE_SECONDS = 0.5

_DONE = None


class Result(NamedTuple):
    outcome: Outcome
    failure: str  # empty if the solvers came to their end


class Worker:
    """Started with the first problem, and again after it was lost; `close` ends it."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Ahead of the first problem, so that it need not wait for the solvers to load."""
        if self._process is None or not self._process.is_alive():
            self._end()
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True, name="planner")
            self._process.start()
            theirs.close()

    def solve(
        self,
        problem: Problem,
        floor: Assignment,
        seconds: float,
        started: Callable[[], None] | None = None,
    ) -> Result:
        """The best that was reported in time; the floor where there was none."""
        outcome = Outcome(floor, "greedy")
        try:
            self.start()
            assert self._connection is not None  # noqa: S101  `start` has made it
            self._connection.send((problem, floor, seconds))
            if started is not None:
                started()
            return self._collect(self._connection, outcome, seconds)
        except (OSError, EOFError) as error:
            self._end()
            return Result(outcome, f"the solver could not be reached: {error or type(error).__name__}")

    def close(self) -> None:
        self._end()

    def _collect(self, connection: Connection, outcome: Outcome, seconds: float) -> Result:
        deadline = time.monotonic() + seconds + _GRACE_SECONDS
        ready = False
        while True:
            # The clock starts when the solver has the problem, not while its process still loads.
            wait = deadline - time.monotonic() if ready else 60.0
            try:
                if not connection.poll(max(wait, 0)):
                    self._end()
                    return Result(outcome, f"the solver was not done after {seconds:g} s")
                message = connection.recv()
            except (OSError, EOFError):
                code = self._exit_code()
                self._end()
                return Result(outcome, f"the solver ended with exit code {code}")
            if message is _DONE:
                return Result(outcome, "")
            if isinstance(message, str):
                if message:
                    return Result(outcome, message)
                ready, deadline = True, time.monotonic() + seconds + _GRACE_SECONDS
            else:
                outcome = message

    def _exit_code(self) -> int | None:
        if self._process is None:
            return None
        self._process.join(1)
        return self._process.exitcode

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._process = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _serve(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    while True:
        try:
            problem, floor, seconds = connection.recv()
        except (EOFError, OSError):
            return
        connection.send("")
        try:
            optimise(problem, floor, seconds, connection.send)
        except Exception as error:  # noqa: BLE001  whatever a solver raises costs this plan only
            connection.send(f"the solver failed: {type(error).__name__}: {error}")
        else:
            connection.send(_DONE)
