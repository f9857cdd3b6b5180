"""Removes our gate and our plans from every pod that waits, pass by pass, many pods at once."""

import asyncio

from tradewind.controller.held_pods import Held, UngateReport, held_pages
from tradewind.controller.plan_writer import WriteOutcome, outcome_of, take_back, ungate
from tradewind.errors import ApiError, GoneError
from tradewind.kube.access import ApiClient
from tradewind.kube.streams import Streams
from tradewind.kube.writes import ApiWrites

# Pods that came while others were ungated are found by the next pass.
_PASSES = 5


async def ungate_all(api: ApiClient, held_for: float = 0.0) -> UngateReport:
    """Those that were held for so many seconds."""
    report = UngateReport(held_for=held_for)
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
    """How many pods were held or had a plan."""
    found = 0
    pages = held_pages(streams, report.held_for)
    while (held := await asyncio.to_thread(next, pages, None)) is not None:
        found += len(held)
        await asyncio.gather(*(_ungate(writes, pod, report) for pod in held))
    return found


async def _ungate(writes: ApiWrites, pod: Held, report: UngateReport) -> None:
    try:
        if pod.gated:
            await ungate(writes, pod)
            report.ungated += 1
        if pod.annotations:
            await take_back(writes, pod)
            report.taken_back += 1
    except ApiError as error:
        if outcome_of(error) is WriteOutcome.FAILED:
            report.failed[f"{pod.namespace}/{pod.name}"] = str(error)
            report.silent |= not error.status
