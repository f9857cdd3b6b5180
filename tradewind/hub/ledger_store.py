"""Room is taken from a site's ledger before a binding is written: with the version that was read, no lock."""

import asyncio
import logging
from collections import defaultdict
from http import HTTPStatus

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.errors import ApiError, ConflictError, NotFoundError
from tradewind.fleet.ledger import Ledger, encode, promise_of
from tradewind.fleet.summary import Summary
from tradewind.hub.metrics import FleetMetrics
from tradewind.hub.records import FLEET_LABEL, SITE_ANNOTATION, SiteNote, note_of
from tradewind.hub.state import FleetState
from tradewind.hub.wire import ConfigMapObject, Metadata
from tradewind.kube.client import Client
from tradewind.kube.writes import ApiWrites

_TRIES = 8

_log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(ConfigMapObject)


class Written(msgspec.Struct):
    metadata: Metadata


written_decoder = msgspec.json.Decoder(Written)


class LedgerStore:
    def __init__(self, writes: ApiWrites, client: Client, state: FleetState, metrics: FleetMetrics) -> None:
        self._writes = writes
        self._client = client
        self._state = state
        self._metrics = metrics
        # Our own requests need not run into each other; those of other schedulers are met by versions.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._maps = f"/api/v1/namespaces/{state.namespace}/configmaps"

    async def take(
        self, site: str, summary: Summary, pod: Pod, *, key: str, replicas: int, now: float
    ) -> bool:
        """Whether the site has promised the room. A conflict is read again, and may find that it has not."""
        async with self._turns[site]:
            return await self._take(site, summary, pod, key=key, replicas=replicas, now=now)

    async def _take(
        self, site: str, summary: Summary, pod: Pod, *, key: str, replicas: int, now: float
    ) -> bool:
        for _ in range(_TRIES):
            note = self._note(site)
            if any(each.key == key and each.time == now for each in note.ledger.promises):
                return True  # an answer was lost, the write was not
            ledger = self._state.ledger(site, now)
            promise = promise_of(summary, ledger, pod, key=key, replicas=replicas, time=now)
            if promise is None:
                return False
            if await self._write(note, ledger.with_promise(promise)):
                return True
            self._metrics.conflicts.inc()
            await self._read(site)
        return False

    async def give_back(self, site: str, key: str, time: float | None = None) -> None:
        """All promises to the request, or the one of that time."""
        async with self._turns[site]:
            await self._give_back(site, key, time)

    async def _give_back(self, site: str, key: str, time: float | None) -> None:
        for _ in range(_TRIES):
            note = self._note(site)
            left = tuple(
                each
                for each in note.ledger.promises
                if each.key != key or (time is not None and each.time != time)
            )
            if len(left) == len(note.ledger.promises) or await self._write(note, Ledger(left)):
                return
            await self._read(site)
        _log.warning("the room promised to %s by %s stays taken until it is old", key, site)

    def _note(self, site: str) -> SiteNote:
        found = self._state.ledgers.get(f"{self._state.namespace}/ledger-{site}")
        return found or SiteNote(f"ledger-{site}", self._state.namespace, "", site)

    async def _write(self, note: SiteNote, ledger: Ledger) -> bool:
        data = {"ledger": encode(ledger)}
        try:
            if note.version:
                patch = {"metadata": {"resourceVersion": note.version}, "data": data}
                answer = await self._writes.patch(f"{self._maps}/{note.name}", patch)
            else:
                metadata = {
                    "name": note.name,
                    "labels": {FLEET_LABEL: "ledger"},
                    "annotations": {SITE_ANNOTATION: note.site},
                }
                answer = await self._writes.create(self._maps, {"metadata": metadata, "data": data})
        except ConflictError:
            return False
        except NotFoundError as error:
            if note.version:
                return False
            raise NotFoundError(
                f"namespace {self._state.namespace} does not exist on the hub: create it, or choose another "
                "with --namespace",
                HTTPStatus.NOT_FOUND,
            ) from error
        version = written_decoder.decode(answer).metadata.resource_version
        self._state.ledgers.apply(
            SiteNote(note.name, self._state.namespace, version, note.site, ledger=ledger)
        )
        return True

    async def _read(self, site: str) -> None:
        path = f"{self._maps}/ledger-{site}"
        try:
            data = await asyncio.to_thread(self._client.get, path)
            self._state.ledgers.apply(note_of(_decoder.decode(data)))
        except NotFoundError:
            self._state.ledgers.remove(f"{self._state.namespace}/ledger-{site}")
        except (ApiError, msgspec.MsgspecError) as error:
            _log.warning("the ledger of %s could not be read: %s", site, error)
