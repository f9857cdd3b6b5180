"""Processes that cannot outlive the test run, each with its own log, in one temporary directory."""

import contextlib
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import urllib3

_REAPER = Path(__file__).with_name("reaper.py")
# Below the range from which Linux and macOS take the ports of outgoing connections; shared out among the
# workers of one pytest.
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = range(20_000 + _WORKER, 32_000, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
_given: set[int] = set()
_SECONDS_BETWEEN_PROBES = 0.05
_HEALTHY = "200"


class NotStartedError(Exception):
    """A process ended, or was not healthy in time; the message ends with the tail of its log."""


class Process:
    """A running program in a process group of its own; `address` is the URL that it serves."""

    def __init__(
        self,
        name: str,
        popen: subprocess.Popen[bytes],
        *,
        log: Path,
        address: str,
        on_end: Callable[[int], None],
    ) -> None:
        self.name = name
        self.log = log
        self.address = address
        self._popen = popen
        self._on_end = on_end

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def kill(self) -> int:
        """Ends the whole group at once; gives the exit code."""
        return self._end(signal.SIGKILL, seconds=10.0)

    def stop(self, seconds: float = 10.0) -> int:
        """Asks the group to end and kills it when it has not by then; gives the exit code."""
        try:
            return self._end(signal.SIGTERM, seconds)
        except subprocess.TimeoutExpired:
            return self.kill()

    def _end(self, number: signal.Signals, seconds: float) -> int:
        # A process that was waited for may have left its id to a stranger.
        if self.running:
            os.killpg(self.pid, number)
            self._popen.wait(seconds)
        self._on_end(self.pid)
        return int(self._popen.returncode)

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_healthy(self, url: str, trusted: ssl.SSLContext | None = None, seconds: float = 60.0) -> None:
        """Asks `url` until it answers 200."""
        deadline = time.monotonic() + seconds
        seen = "nothing was asked"
        with urllib3.PoolManager(ssl_context=trusted, retries=False, timeout=2.0) as pool:
            while time.monotonic() < deadline:
                if not self.running:
                    raise self._not_started(f"ended with exit code {self._popen.returncode}")
                seen = _answer(pool, url)
                if seen == _HEALTHY:
                    return
                time.sleep(_SECONDS_BETWEEN_PROBES)
        raise self._not_started(f"was not healthy after {seconds:.0f} s; {url} last gave: {seen}")

    def _not_started(self, what: str) -> NotStartedError:
        return NotStartedError(f"{self.name} {what}; the end of its log:\n{self.tail()}")


def _answer(pool: urllib3.PoolManager, url: str) -> str:
    try:
        response = pool.request("GET", url)
    except urllib3.exceptions.HTTPError as error:
        return f"{type(error).__name__} {error}"
    said = response.data[:500].decode(errors="replace")
    return _HEALTHY if response.status == 200 else f"{response.status} {said}"


class Workspace:
    """A temporary directory and the processes that work in it; `close` leaves neither.

    A reaper beside it does the same when this process is killed and cannot.
    """

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tradewind-e2e-"))
        self.processes: list[Process] = []
        self._reaper = subprocess.Popen(
            [sys.executable, "-I", _REAPER, self.directory],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        address: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """`environment` is added to ours."""
        log = self.directory / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._tell_reaper(f"+{popen.pid}")
        process = Process(name, popen, log=log, address=address, on_end=self._forget)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
        self.processes.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
        if self._reaper.stdin:
            self._reaper.stdin.close()
        self._reaper.wait()

    def _forget(self, pid: int) -> None:
        self._tell_reaper(f"-{pid}")

    def _tell_reaper(self, line: str) -> None:
        print(line, file=self._reaper.stdin, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def free_port() -> int:
    """Never the same twice: what asked for one may not have bound it yet."""
    for port in random.sample(_PORTS, len(_PORTS)):
        if port in _given:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _given.add(port)
            return port
    raise NotStartedError(f"no port of {_PORTS} is free on 127.0.0.1")
