"""Ungates every pod that Tradewind holds: for the end of Tradewind, and for a watchdog.

Reads and writes the API server alone: it works where no planner runs, and needs no state of one.
"""

import asyncio
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from tradewind.controller.plan_writer import WriteOutcome, outcome_of, ungate
from tradewind.errors import ApiError, GoneError
from tradewind.kube.access import ApiClient
from tradewind.kube.lease import LeaseSpec, LeaseStore
from tradewind.kube.objects import Identity
from tradewind.kube.streams import Streams
from tradewind.kube.writes import ApiWrites
from tradewind.planner.gate import GATES

LEASE = "tradewind-planner"  # of the leader among the planners

# A pod behind a gate has no node and has not begun; the API server leaves all others out.
_MAYBE_HELD = "spec.nodeName=,status.phase=Pending"
_PAGE_PODS = 500
_PAGE_SECONDS = 30.0
# Pods that came while others were ungated are found by the next pass.
_PASSES = 5
_LEASE_SECONDS = 15.0
_MAX_LEASE_SECONDS = 60.0


class _Gate(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct, rename="camel"):
    scheduling_gates: tuple[_Gate, ...] | None = None


class _Pod(msgspec.Struct):
    metadata: Identity
    spec: _Spec


class _ListMetadata(msgspec.Struct):
    token: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct):
    metadata: _ListMetadata
    items: tuple[_Pod, ...] | None = None


class Held(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    uid: str


class UngateReport(msgspec.Struct):
    ungated: int = 0
    failed: dict[str, str] = {}  # namespace/name to what the API server said
    silent: bool = False  # the API server, at least once

    def __str__(self) -> str:
        if self.failed:
            first, said = next(iter(self.failed.items()))
            left = f"{_pods(len(self.failed))} could not be ungated, the first of them {first}: {said}"
            return f"Ungated {_pods(self.ungated)}; {left}."
        if self.ungated:
            return f"Ungated {_pods(self.ungated)}; Tradewind holds none any more."
        return "Tradewind holds no pod."


_page_decoder = msgspec.json.Decoder(_Page)


def release(api: ApiClient) -> UngateReport:
    """Raise ApiError if the pods cannot even be listed."""
    return asyncio.run(_release(api))


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


async def _release(api: ApiClient) -> UngateReport:
    report = UngateReport()
    streams = Streams(api)
    try:
        # Behind a silent API server each write takes a minute to fail: the first that does speaks for all.
        async with ApiWrites(api, permitted=lambda: not report.silent) as writes:
            for number in range(1, _PASSES + 1):
                try:
                    found = await _pass(streams, writes, report)
                except GoneError:  # the list took longer than the API server remembers
                    if number == _PASSES:
                        raise
                    continue
                if not found or report.failed:
                    break
    finally:
        streams.close()
    return report


async def _pass(streams: Streams, writes: ApiWrites, report: UngateReport) -> int:
    """How many pods were held."""
    found = 0
    pages = _held_pages(streams)
    while (held := await asyncio.to_thread(next, pages, None)) is not None:
        found += len(held)
        await asyncio.gather(*(_ungate(writes, pod, report) for pod in held))
    return found


async def _ungate(writes: ApiWrites, pod: Held, report: UngateReport) -> None:
    try:
        await ungate(writes, pod)
        report.ungated += 1
    except ApiError as error:
        if outcome_of(error) is WriteOutcome.FAILED:
            report.failed[f"{pod.namespace}/{pod.name}"] = str(error)
            report.silent |= not error.status


def _held_pages(streams: Streams) -> Iterator[list[Held]]:
    query: dict[str, Any] = {"field_selector": _MAYBE_HELD, "limit": _PAGE_PODS}
    while True:
        data = streams.page("pods", query, _PAGE_SECONDS)
        try:
            page = _page_decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise ApiError(f"the API server's list of pods cannot be read: {error}") from error
        yield [
            Held(pod.metadata.namespace or "", pod.metadata.name or "", pod.metadata.uid or "")
            for pod in page.items or ()
            if any(gate.name in GATES for gate in pod.spec.scheduling_gates or ())
        ]
        if not page.metadata.token:
            return
        query["_continue"] = page.metadata.token


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
