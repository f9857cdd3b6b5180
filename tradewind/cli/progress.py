"""One line on standard error that says that something is still going on."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_EVERY_SECONDS = 1.0


@contextmanager
def progress(what: str, limit: float) -> Iterator[None]:
    """Said once; on a terminal it counts the seconds, and is gone afterwards."""
    if not sys.stderr.isatty():
        print(f"{what}, up to {limit:g} s ...", file=sys.stderr, flush=True)
        yield
        return
    ended = threading.Event()
    counter = threading.Thread(target=_count, args=(what, limit, ended), daemon=True)
    counter.start()
    try:
        yield
    finally:
        ended.set()
        counter.join()
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _count(what: str, limit: float, ended: threading.Event) -> None:
    started = time.monotonic()
    while True:
        passed = time.monotonic() - started
        print(f"\r\x1b[K{what}: {passed:.0f} of up to {limit:g} s", end="", file=sys.stderr, flush=True)
        if ended.wait(_EVERY_SECONDS):
            return
