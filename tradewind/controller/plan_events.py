"""What the planner has to say about single pods, as Events.

One for each pod and reason: another text for the same reason changes it, the same text is said once. A new
leader goes on with the Events of the last.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterable

from cachetools import TTLCache

from tradewind.cluster.objects import Pod
from tradewind.controller.gang_losses import Loss
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.moves import MoveNote
from tradewind.errors import ApiError
from tradewind.kube.events import Event, EventWriter
from tradewind.kube.objects import PodReference
from tradewind.kube.writes import ApiWrites

# The API server forgets Events after an hour, unless told otherwise.
_RECENT_SECONDS = 3600.0
_MAX_RECENT = 100_000
# Plans are more urgent: Events take few of the connections, and what is left over comes with the next batch.
_CONCURRENCY = 2
_MAX_PER_CALL = 200

_log = logging.getLogger(__name__)


class PlanEvents:
    """Nothing depends on an Event: one that cannot be written is counted and forgotten."""

    def __init__(self, writes: ApiWrites, metrics: PlanMetrics) -> None:
        self._events = EventWriter(writes, "tradewind-planner")
        self._metrics = metrics
        self._places = asyncio.Semaphore(_CONCURRENCY)
        self._recent: TTLCache[tuple[str, str], str] = TTLCache(_MAX_RECENT, ttl=_RECENT_SECONDS)

    async def unplaced(self, reasons: Iterable[tuple[Pod, str]]) -> None:
        """Held pods without a place in the plan, each with what keeps it from one."""
        await self._write_all(
            Event(_reference(pod), "Warning", "Unplaced", f"No place: {reason}") for pod, reason in reasons
        )

    async def planned_on_pool(self, pools: Iterable[tuple[Pod, str]]) -> None:
        """Pods that fit only on a node that does not exist yet."""
        text = 'Ungated without a node: a new node of pool "{}" would have room for it'
        await self._write_all(
            Event(_reference(pod), "Normal", "PlannedOnPool", text.format(pool)) for pod, pool in pools
        )

    async def ungated(self, pods: Iterable[Pod], held_seconds: float) -> None:
        """Pods that were held as long as may be."""
        text = f"Ungated without a plan: held for {held_seconds:.0f} s, and no place was found"
        await self._write_all(Event(_reference(pod), "Normal", "Ungated", text) for pod in pods)

    async def nodeless(self, pods: Iterable[Pod]) -> None:
        """Pods that no node can take now."""
        text = "Ungated without a plan: no node can take it now"
        await self._write_all(Event(_reference(pod), "Normal", "Ungated", text) for pod in pods)

    async def gang_broken(self, losses: Iterable[Loss]) -> None:
        """Members that are left of gangs."""
        await self._write_all(
            Event(_reference(pod), "Warning", "GangBroken", loss.text) for loss in losses for pod in loss.left
        )

    async def nodes_without(self, found: Iterable[tuple[Pod, str]]) -> None:
        """Of workloads that want a pod on every node."""
        await self._write_all(Event(_reference(pod), "Warning", "NodesWithout", text) for pod, text in found)

    async def moves(self, notes: Iterable[MoveNote]) -> None:
        """Pods that were moved, would be, or were to be."""
        await self._write_all(Event(_reference(pod), "Normal", reason, text) for pod, reason, text in notes)

    async def _write_all(self, events: Iterable[Event]) -> None:
        news = (event for event in events if self._recent.get((event.about.uid, event.reason)) != event.text)
        await asyncio.gather(*(self._write(event) for event in itertools.islice(news, _MAX_PER_CALL)))

    async def _write(self, event: Event) -> None:
        outcome = "written"
        try:
            async with self._places:
                await self._events.set(event)
        except ApiError as error:
            outcome = "failed"
            _log.debug("event %s about %s could not be written: %s", event.reason, event.about.name, error)
        self._metrics.writes.labels("event", outcome).inc()
        self._recent[event.about.uid, event.reason] = event.text


def _reference(pod: Pod) -> PodReference:
    return PodReference(pod.namespace, pod.name, pod.uid)
