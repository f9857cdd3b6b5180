"""What is going on, on standard error."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_EVERY_SECONDS = 1.0

Stage = Callable[[str], None]


@contextmanager
def progress(what: str) -> Iterator[Stage]:
    """On a terminal one line that counts the seconds and is gone afterwards, else a line for each stage."""
    if not sys.stderr.isatty():
        print(f"{what} ...", file=sys.stderr, flush=True)
        yield lambda stage: print(f"  {stage} ...", file=sys.stderr, flush=True)
        return
    line = _Line(what)
    counter = threading.Thread(target=line.count, daemon=True)
    counter.start()
    try:
        yield line.enter
    finally:
        line.ended.set()
        counter.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Line:
    def __init__(self, what: str) -> None:
        self._what = self._shown = what
        self._started = time.monotonic()
        self.ended = threading.Event()

    def enter(self, stage: str) -> None:
        self._shown = f"{self._what}: {stage}"
        self._show()

    def count(self) -> None:
        while not self.ended.wait(_EVERY_SECONDS):
            self._show()

    def _show(self) -> None:
        passed = time.monotonic() - self._started
        print(f"\r\x1b[K{self._shown} ({passed:.0f} s)", end="", file=sys.stderr, flush=True)
