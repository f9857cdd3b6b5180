"""The answers to kube-scheduler: request bytes in, answer bytes out.

Whatever goes wrong here must not keep a pod from being scheduled: before the cluster state is complete, and
when a rule fails, every node passes and none is preferred, as if Tradewind were not there.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from cachetools import TTLCache

from cluster.cache import Cache
from cluster.errors import RequestError
from cluster.objects import Pod
from cluster.snapshot import Snapshot
from cluster.table import Rows
from extender import protocol
from extender.metrics import Metrics
from extender.protocol import Request
from scoring.policy import Policy
from scoring.ranking import levels

UNKNOWN_NODE = "node is not known to Tradewind yet"

# kube-scheduler's watch may be ahead of ours when a node is new. Rejecting the node at once could leave the
# pod waiting for the next cluster event; so the first request with a new name waits this long for our watch.
_UNKNOWN_NODE_WAIT_SECONDS = 0.25
_UNKNOWN_NODE_MEMORY_SECONDS = 60.0

_log = logging.getLogger(__name__)


class ClusterState(Protocol):
    @property
    def cache(self) -> Cache: ...

    @property
    def synced(self) -> bool: ...


@dataclass(frozen=True)
class Answer:
    body: bytes
    outcome: str
    status: int = 200


class Verbs:
    def __init__(self, cluster: ClusterState, policy_of: Callable[[Pod], Policy], metrics: Metrics) -> None:
        self._cluster = cluster
        self._policy_of = policy_of
        self._metrics = metrics
        self._waited: TTLCache[str, None] = TTLCache(4096, ttl=_UNKNOWN_NODE_MEMORY_SECONDS)

    async def filter(self, body: bytes) -> Answer:
        return await self._answer("filter", body, self._filter)

    async def prioritize(self, body: bytes) -> Answer:
        return await self._answer("prioritize", body, self._prioritize)

    async def _answer(self, verb: str, body: bytes, decide: Callable[[Request], Awaitable[bytes]]) -> Answer:
        started = time.perf_counter()
        answer = await self._decided(verb, body, decide)
        self._metrics.requests.labels(verb, answer.outcome).inc()
        self._metrics.request_seconds.labels(verb).observe(time.perf_counter() - started)
        return answer

    async def _decided(self, verb: str, body: bytes, decide: Callable[[Request], Awaitable[bytes]]) -> Answer:
        try:
            request = protocol.decode(body)
        except RequestError as error:
            _log.warning("%s request refused: %s", verb, error)
            # kube-scheduler reads an Error of filter; of prioritize it only notes that the call failed.
            return Answer(protocol.encode_error(str(error)), "malformed", 200 if verb == "filter" else 400)
        if not self._cluster.synced:
            return Answer(_indifferent(verb, request), "not_synced")
        try:
            answer = Answer(await decide(request), "ok")
        except Exception:  # noqa: BLE001  the boundary: no fault of ours may block a pod
            _log.exception("%s failed for pod %s; every node passes", verb, request.pod)
            return Answer(_indifferent(verb, request), "failed")
        _log.debug("%s answered for pod %s and %d nodes", verb, request.pod, len(request.names))
        return answer

    async def _filter(self, request: Request) -> bytes:
        snapshot, rows = await self._rows(request)
        known = np.flatnonzero(rows >= 0)
        verdict = self._policy_of(request.pod).filter(request.pod, snapshot.nodes.take(rows[known]))
        failed: dict[str, str] = {}
        unresolvable = {request.names[index]: UNKNOWN_NODE for index in np.flatnonzero(rows < 0).tolist()}
        for rule, rejected in verdict.rejections:
            self._metrics.rejected.labels(rule.name).inc(rejected.size)
            reasons = failed if rule.resolvable else unresolvable
            reasons.update((request.names[index], rule.reason) for index in known[rejected].tolist())
        return protocol.encode_filter(request, known[verdict.feasible].tolist(), failed, unresolvable)

    async def _prioritize(self, request: Request) -> bytes:
        snapshot, rows = await self._rows(request)
        known = np.flatnonzero(rows >= 0)
        totals = self._policy_of(request.pod).total(request.pod, snapshot.nodes.take(rows[known]))
        scores = np.zeros(len(request.names), np.int64)
        scores[known] = levels(totals)
        return protocol.encode_priorities(request.names, scores.tolist())

    async def _rows(self, request: Request) -> tuple[Snapshot, Rows]:
        """The newest snapshot and the rows in it of the request's nodes, -1 for a node that it lacks."""
        cache = self._cluster.cache
        snapshot = cache.snapshot()
        rows = _lookup(snapshot, request)
        unknown = [request.names[index] for index in np.flatnonzero(rows < 0).tolist()]
        if not unknown:
            return snapshot, rows
        new = [name for name in unknown if name not in self._waited]
        if new:
            self._waited.update(dict.fromkeys(new))
            await asyncio.to_thread(cache.wait_for_nodes, new, _UNKNOWN_NODE_WAIT_SECONDS)
            snapshot = cache.snapshot()
            rows = _lookup(snapshot, request)
        missing = np.flatnonzero(rows < 0)
        if missing.size:
            self._metrics.unknown.inc(missing.size)
            _log.warning("node %s is not in the cluster state", request.names[int(missing[0])])
        return snapshot, rows


def _lookup(snapshot: Snapshot, request: Request) -> Rows:
    row_of = snapshot.row_of
    return np.array([row_of.get(name, -1) for name in request.names], np.intp)


def _indifferent(verb: str, request: Request) -> bytes:
    if verb == "filter":
        return protocol.encode_filter(request, range(len(request.names)), {}, {})
    return protocol.encode_priorities(request.names, [0] * len(request.names))
