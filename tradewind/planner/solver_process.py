"""A process of the solvers' own: one that crashes, hangs or runs out of memory costs one answer."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tradewind.planner.problem import Failure

# What its process may take to start and load them, on a busy machine.
_START_SECONDS = 60.0
# An answer can wait for a millisecond; kube-scheduler, whose requests may be answered on the same cores,
# cannot.
_NICENESS = 5

_LOADED, _READY, _DONE = "loaded", "ready", "done"
# Asks for an end of what is being answered; means nothing afterwards.
_STOP = "stop"


class SolverLostError(Exception):
    """The process ended, did not answer in time, or said that it failed."""


class SolverProcess:
    """Runs a module that calls `serve`. Started when asked, also after it was lost; `close` ends it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._loaded = False
        self._killed = False
        self._changing = threading.RLock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def loaded(self) -> bool:
        """Whether a request would be taken up at once."""
        process, connection = self._process, self._connection
        if process is None or connection is None or process.poll() is not None:
            return False
        try:
            return self._loaded or connection.poll()
        except OSError:  # closed in another thread
            return False

    def start(self) -> Connection:
        """Ahead of the first request, so that it need not wait for the solvers to load."""
        with self._changing:
            return self._start()

    def _start(self) -> Connection:
        if self._process is None or self._connection is None or self._process.poll() is not None:
            self.close()
            ours, theirs = socket.socketpair()
            with theirs:
                self._connection = Connection(ours.detach())
                command = self._command(theirs.fileno())
                paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
                environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
                self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)  # noqa: S603
        if self._killed:
            self._process.kill()
        return self._connection

    def _command(self, descriptor: int) -> list[str]:
        """Not by multiprocessing, which would load the parent's main module once more."""
        return [sys.executable, "-m", self._module, str(descriptor)]

    def kill(self) -> None:
        """For good, from another thread than that which waits for an answer, and learns of it."""
        self._killed = True  # first: one that is just being started has no process to kill yet
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        with self._changing:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None
            self._loaded = False
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def ask(self, *request: Any) -> Connection:
        """Send it, and wait until the process has it: loading the solvers is not part of their time."""
        deadline = time.monotonic() + _START_SECONDS
        try:
            connection = self.start()
            with self._killing_at(deadline):
                connection.send(request)
        except OSError as error:
            self.close()
            raise SolverLostError(f"the solver could not be reached: {error}") from error
        if not self._loaded:
            self.receive(connection, deadline)
            self._loaded = True
        self.receive(connection, deadline)
        return connection

    def hurry(self, connection: Connection) -> None:
        """Ask for the end of its answer."""
        with contextlib.suppress(OSError):  # whoever receives its answer is told
            connection.send(_STOP)

    def receive(self, connection: Connection, deadline: float) -> Any:
        """The next of its answers, and a word of its own after the last."""
        try:
            if not connection.poll(max(deadline - time.monotonic(), 0)):
                self.close()
                raise SolverLostError("the solver was not done in time")
            with self._killing_at(deadline):
                message = connection.recv()
        except (OSError, EOFError) as error:
            code = self._exit_code()
            self.close()
            raise SolverLostError(f"the solver ended with exit code {code}") from error
        if isinstance(message, Failure):
            raise SolverLostError(f"the solver failed: {message.text}")
        return message

    @contextlib.contextmanager
    def _killing_at(self, deadline: float) -> Iterator[None]:
        """The end of the process is the end of a read or a write that waits for it."""
        process = self._process
        if process is None:
            yield
            return
        timer = threading.Timer(max(deadline - time.monotonic(), 0), process.kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _exit_code(self) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None


def serve(connection: Connection, answer: Callable[[Any], None]) -> None:
    """In the process itself: each request is answered by as many messages as `answer` sends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    os.nice(_NICENESS)
    connection.send(_LOADED)
    while True:
        try:
            request = connection.recv()
            if request == _STOP:
                continue
            connection.send(_READY)
            try:
                answer(request)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001  whatever a solver raises costs this answer only
                connection.send(Failure(f"{type(error).__name__}: {error}"))
            else:
                connection.send(_DONE)
        except (EOFError, OSError):  # the parent is gone
            return
