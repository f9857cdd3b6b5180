"""Waiting for a reflector's first lists, which no process does: it serves its probes meanwhile."""

import time

from tradewind.cluster.reflector import Reflector


def wait_synced(reflector: Reflector, seconds: float) -> bool:
    end = time.monotonic() + seconds
    return all(watch.listed.wait(max(0.0, end - time.monotonic())) for watch in reflector.watches)
