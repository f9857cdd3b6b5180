"""What the planner has to say about single pods, as Kubernetes Events: `kubectl describe pod` shows them.

One Event for each pod and reason: another text for the same reason changes it, the same text is said once.
Its name is made of both, so that a new leader goes on with the Events of the last.
"""

import asyncio
import itertools
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import blake2b
from http import HTTPStatus
from typing import Any

from cachetools import TTLCache

from tradewind.cluster.objects import Pod
from tradewind.controller.metrics import PlanMetrics
from tradewind.kube.writes import Answer, ApiWrites

_COMPONENT = "tradewind-planner"
_MOST_TEXT = 1024  # by the Event's definition
_MOST_NAME = 253 - 17  # of the pod's, before a point and the digest
# The API server forgets Events after an hour, unless told otherwise.
_TOLD_SECONDS = 3600.0
_MOST_TOLD = 100_000
# Plans are more urgent: Events take few of the connections, and what is left over comes with the next batch.
_AT_ONCE = 2
_MOST_A_CALL = 200

_log = logging.getLogger(__name__)


class PlanEvents:
    """Nothing depends on an Event: one that cannot be written is counted and forgotten."""

    def __init__(self, writes: ApiWrites, metrics: PlanMetrics) -> None:
        self._writes = writes
        self._metrics = metrics
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._told: TTLCache[tuple[str, str], str] = TTLCache(_MOST_TOLD, ttl=_TOLD_SECONDS)

    async def unplaced(self, reasons: Iterable[tuple[Pod, str]]) -> None:
        """Pods without a place in the plan, each with what keeps it from one."""
        await self._tell_all("Unplaced", "Warning", ((pod, f"No place: {reason}") for pod, reason in reasons))

    async def planned_on_pool(self, pools: Iterable[tuple[Pod, str]]) -> None:
        """Pods that fit only on a node that does not exist yet."""
        text = 'Let go without a node: a new node of pool "{}" would have room for it'
        await self._tell_all("PlannedOnPool", "Normal", ((pod, text.format(pool)) for pod, pool in pools))

    async def released(self, pods: Iterable[Pod], held_seconds: float) -> None:
        """Pods that were held as long as may be."""
        text = f"Let go without a plan: held for {held_seconds:.0f} s, and no place was found"
        await self._tell_all("Released", "Normal", ((pod, text) for pod in pods))

    async def _tell_all(self, reason: str, kind: str, texts: Iterable[tuple[Pod, str]]) -> None:
        news = ((pod, text) for pod, text in texts if self._told.get((pod.uid, reason)) != text)
        some = list(itertools.islice(news, _MOST_A_CALL))
        await asyncio.gather(*(self._tell(pod, reason, kind, text) for pod, text in some))

    async def _tell(self, pod: Pod, reason: str, kind: str, text: str) -> None:
        async with self._places:
            answer = await self._write(pod, reason, kind, text)
        self._metrics.writes.labels("event", "written" if answer.ok else "failed").inc()
        if not answer.ok:
            _log.debug("event %s about %s could not be written: %s", reason, pod, answer)
        self._told[pod.uid, reason] = text

    async def _write(self, pod: Pod, reason: str, kind: str, text: str) -> Answer:
        events = f"/api/v1/namespaces/{pod.namespace}/events"
        event = _event(pod, reason, kind, text)
        answer = await self._writes.create(events, event)
        if answer.status != HTTPStatus.CONFLICT:
            return answer
        newer = {key: event[key] for key in ("message", "lastTimestamp")}
        return await self._writes.patch(f"{events}/{event['metadata']['name']}", newer)


def _event(pod: Pod, reason: str, kind: str, text: str) -> dict[str, Any]:
    digest = blake2b(f"{pod.uid} {reason}".encode(), digest_size=8).hexdigest()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "metadata": {
            "name": f"{pod.name[:_MOST_NAME].rstrip('.-')}.{digest}",
            "namespace": pod.namespace,
        },
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
        },
        "reason": reason,
        "message": text[:_MOST_TEXT],
        "type": kind,
        "source": {"component": _COMPONENT},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
