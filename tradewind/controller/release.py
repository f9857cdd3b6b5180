"""Ungates pods that Tradewind holds: all at the end of Tradewind, and for a watchdog those held for too long.

Reads and writes the API server alone: it works where no planner runs, and needs no state of one.
"""

import contextlib
import time
from datetime import UTC, datetime

from tradewind.controller.held_pods import UngateReport, held_pages
from tradewind.errors import GoneError
from tradewind.kube.access import ApiClient
from tradewind.kube.lease import LeaseSpec, LeaseStore
from tradewind.kube.streams import Streams

LEASE = "tradewind-planner"  # of the leader among the planners

_LEASE_SECONDS = 15.0
_MAX_LEASE_SECONDS = 60.0


def release(api: ApiClient, held_for: float = 0.0) -> UngateReport:
    """Those that were held for so many seconds; raise ApiError if the pods cannot even be listed."""
    if not _any_held(api, held_for):
        return UngateReport()
    # A watchdog looks every minute and mostly finds nothing: asyncio and aiohttp take longer than that.
    import asyncio  # noqa: PLC0415

    from tradewind.controller.ungating import ungate_all  # noqa: PLC0415

    return asyncio.run(ungate_all(api, held_for))


def sign_of_life(api: ApiClient, namespace: str, limit_seconds: float) -> str:
    """What says that a planner leads, or nothing if none has for so long.

    The time on the Lease is by the planner's clock. One that is wrong must not cost the plans of a planner
    that works, nor keep pods of a dead one held: a time too far off, on either side, is looked at once more
    after the duration of the Lease, and then only a change counts.
    """
    store = LeaseStore(api, namespace, LEASE)
    try:
        lease = store.read()
        if lease is None:
            return ""
        off = _off_seconds(lease.spec)
        if off is not None and abs(off) < limit_seconds:
            return f"{store} was renewed {max(off, 0.0):.0f} s ago"
        time.sleep(min(lease.spec.lease_duration_seconds or _LEASE_SECONDS, _MAX_LEASE_SECONDS))
        again = store.read()
        return f"{store} is being renewed" if again is not None and again.spec != lease.spec else ""
    finally:
        store.close()


def _off_seconds(spec: LeaseSpec) -> float | None:
    """Between the last renewal and now."""
    if spec.renew_time is None:
        return None
    return (datetime.now(UTC) - datetime.fromisoformat(spec.renew_time)).total_seconds()


def _any_held(api: ApiClient, held_for: float) -> bool:
    with contextlib.closing(Streams(api)) as streams:
        try:
            return any(held_pages(streams, held_for))
        except GoneError:  # the list took longer than the API server remembers
            return True
