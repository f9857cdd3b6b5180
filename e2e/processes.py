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
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import httpx

_REAPER = Path(__file__).with_name("reaper.py")
# Below the range from which Linux and macOS take the ports of outgoing connections.
_PORTS = range(20_000, 32_000)
_SECONDS_BETWEEN_PROBES = 0.05


class NotStartedError(Exception):
    """A process ended, or was not healthy in time; the message ends with the tail of its log."""


class Process:
    """A running program in a process group of its own; `address` is the URL that it serves."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], log: Path, address: str) -> None:
        self.name = name
        self.address = address
        self.log = log
        self._popen = popen

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
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        return self._popen.wait(seconds)

    def tail(self, lines: int = 20) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def wait_healthy(self, url: str, verify: ssl.SSLContext | bool = True, seconds: float = 60.0) -> None:
        """Asks `url` until it answers 200."""
        deadline = time.monotonic() + seconds
        seen = "nothing was asked"
        with httpx.Client(verify=verify, timeout=2.0, trust_env=False) as client:
            while time.monotonic() < deadline:
                if not self.running:
                    raise self._not_started(f"ended with exit code {self._popen.returncode}")
                seen = _answer(client, url)
                if seen == "200":
                    return
                time.sleep(_SECONDS_BETWEEN_PROBES)
        raise self._not_started(f"was not healthy after {seconds:.0f} s; {url} last gave: {seen}")

    def _not_started(self, what: str) -> NotStartedError:
        return NotStartedError(f"{self.name} {what}; the end of its log:\n{self.tail()}")


def _answer(client: httpx.Client, url: str) -> str:
    try:
        response = client.get(url)
    except httpx.HTTPError as error:
        return f"{type(error).__name__} {error}"
    return (
        "200" if response.status_code == httpx.codes.OK else f"{response.status_code} {response.text[:500]}"
    )


class Workspace:
    """A temporary directory and the processes that work in it; `close` leaves neither.

    A reaper beside it does the same when this process is killed and cannot.
    """

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="tradewind-e2e-"))
        self._processes: list[Process] = []
        self._reaper = subprocess.Popen(
            [sys.executable, "-I", _REAPER, self.directory],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(self, name: str, command: Sequence[str | Path], address: str = "") -> Process:
        log = self.directory / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._tell_reaper(f"+{popen.pid}")
        process = Process(name, popen, log, address)
        self._processes.append(process)
        return process

    def close(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            self._tell_reaper(f"-{process.pid}")
        self._processes.clear()
        shutil.rmtree(self.directory, ignore_errors=True)
        if self._reaper.stdin:
            self._reaper.stdin.close()
        self._reaper.wait()

    def _tell_reaper(self, line: str) -> None:
        if self._reaper.stdin and not self._reaper.stdin.closed:
            print(line, file=self._reaper.stdin, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def free_port() -> int:
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise NotStartedError(f"no port of {_PORTS} is free on 127.0.0.1")
