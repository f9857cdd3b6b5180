"""Kubernetes Events: `kubectl describe` shows them beside the object that they are about."""

import asyncio
import logging
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from tradewind.errors import ApiError, ConflictError
from tradewind.kube.access import ApiClient
from tradewind.kube.objects import PodReference
from tradewind.kube.writes import ApiWrites

_MAX_TEXT = 1024  # by the Event's definition
_MAX_NAME = 253 - 17  # of the object's, before a point and the digest
_WARNING_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Event(NamedTuple):
    about: PodReference
    type: Literal["Normal", "Warning"]
    reason: str
    text: str


class EventWriter:
    def __init__(self, writes: ApiWrites, component: str) -> None:
        self._writes = writes
        self._component = component

    async def set(self, event: Event) -> None:
        """One Event for each object and reason: another text changes it, whoever wrote the first."""
        body = self._body(event, key=f"{event.about.uid} {event.reason}")
        try:
            await self._writes.create(_path(event), body)
        except ConflictError:
            newer = {key: body[key] for key in ("message", "lastTimestamp")}
            await self._writes.patch(f"{_path(event)}/{body['metadata']['name']}", newer)

    async def add(self, event: Event) -> None:
        """One Event for each text; needs no right to change Events."""
        body = self._body(event, key=f"{event.about.uid} {event.reason} {event.text}")
        try:
            await self._writes.create(_path(event), body)
        except ConflictError:
            _log.debug("event %s about %s is there already", event.reason, event.about)

    def _body(self, event: Event, key: str) -> dict[str, Any]:
        about = event.about
        digest = blake2b(key.encode(), digest_size=8).hexdigest()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return {
            "metadata": {
                "name": f"{about.name[:_MAX_NAME].rstrip('.-')}.{digest}",
                "namespace": about.namespace,
            },
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about._asdict()},
            "reason": event.reason,
            "message": event.text[:_MAX_TEXT],
            "type": event.type,
            "source": {"component": self._component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }


def warn(api: ApiClient, about: PodReference, reason: str, text: str) -> None:
    """For threads without an event loop; where the Event cannot be written, the log has to do."""
    try:
        asyncio.run(_warn(api, Event(about, "Warning", reason, text)))
    except (ApiError, TimeoutError) as error:
        _log.warning("event %s could not be written: %s", reason, error or "no answer")


async def _warn(api: ApiClient, event: Event) -> None:
    async with asyncio.timeout(_WARNING_SECONDS), ApiWrites(api) as writes:
        await EventWriter(writes, "tradewind").add(event)


def _path(event: Event) -> str:
    return f"/api/v1/namespaces/{event.about.namespace}/events"
