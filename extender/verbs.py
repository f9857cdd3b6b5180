"""The answers to kube-scheduler: request bytes in, answer bytes out.

Whatever goes wrong here must not keep a pod from being scheduled: before the cluster state is complete, and
when a rule fails, every node passes and none is preferred, as if Tradewind were not there.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Generic, Protocol, TypeVar

import numpy as np
from cachetools import TTLCache

from cluster.cache import Cache
from cluster.errors import RequestError
from cluster.objects import Pod
from cluster.snapshot import Snapshot
from cluster.table import NodeTable, Rows
from extender import protocol
from extender.bind import Binder
from extender.decisions import Decisions
from extender.metrics import Metrics
from extender.planned import boosted, fresh_note, planned_row, with_plan
from extender.preempt import choose
from extender.protocol import PreemptRequest, Request
from scoring.policy import Policy, weighted_sum
from scoring.ranking import levels

UNKNOWN_NODE = "node is not known to Tradewind yet"
REFUSED_NODE = "node refused the pod when it was about to be bound"

# kube-scheduler's watch may be ahead of ours when a node is new. Rejecting the node at once could leave the
# pod waiting for the next cluster event; so the first request with a new name waits this long for our watch.
_UNKNOWN_NODE_WAIT_SECONDS = 0.25
_UNKNOWN_NODE_MEMORY_SECONDS = 60.0

Asked = TypeVar("Asked", Request, PreemptRequest)

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


@dataclass(frozen=True)
class _Verb(Generic[Asked]):
    """How one verb is answered, and what it says when it cannot be."""

    name: str
    decode: Callable[[bytes], Asked]
    decide: Callable[[Asked], Awaitable[bytes]]
    indifferent: Callable[[Asked], bytes]  # as if Tradewind were not there
    malformed_status: int = HTTPStatus.BAD_REQUEST


class Verbs:
    def __init__(
        self,
        cluster: ClusterState,
        policy_of: Callable[[Pod], Policy],
        metrics: Metrics,
        binder: Binder | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self._cluster = cluster
        self._policy_of = policy_of
        self._metrics = metrics
        self.binder = binder
        self._decisions = decisions
        self._waited: TTLCache[str, None] = TTLCache(4096, ttl=_UNKNOWN_NODE_MEMORY_SECONDS)
        self._filter_verb = _Verb("filter", protocol.decode, self._filter, _keep_all, HTTPStatus.OK)
        self._prioritize_verb = _Verb("prioritize", protocol.decode, self._prioritize, _prefer_none)
        self._preempt_verb = _Verb("preempt", protocol.decode_preempt, self._preempt, _keep_all_victims)

    async def filter(self, body: bytes) -> Answer:
        """A malformed request gets an Error, which kube-scheduler reads as ours, not as "no node fits"."""
        return await self._answer(self._filter_verb, body)

    async def prioritize(self, body: bytes) -> Answer:
        return await self._answer(self._prioritize_verb, body)

    async def preempt(self, body: bytes) -> Answer:
        return await self._answer(self._preempt_verb, body)

    async def bind(self, body: bytes) -> Answer:
        """There is no indifferent answer: a pod that nobody binds stays assumed for ever."""
        if self.binder is None:
            return Answer(protocol.encode_bind("this Tradewind does not bind; see --bind"), "malformed")
        try:
            request = protocol.decode_bind(body)
        except RequestError as error:
            _log.warning("bind request refused: %s", error)
            return Answer(protocol.encode_bind(str(error)), "malformed")
        return Answer(protocol.encode_bind(await self.binder.bind(request)), "ok")

    async def _answer(self, verb: _Verb[Asked], body: bytes) -> Answer:
        started = time.perf_counter()
        answer = await self._decided(verb, body)
        self._metrics.requests.labels(verb.name, answer.outcome).inc()
        self._metrics.request_seconds.labels(verb.name).observe(time.perf_counter() - started)
        return answer

    async def _decided(self, verb: _Verb[Asked], body: bytes) -> Answer:
        try:
            request = verb.decode(body)
        except RequestError as error:
            _log.warning("%s request refused: %s", verb.name, error)
            return Answer(protocol.encode_error(str(error)), "malformed", verb.malformed_status)
        if not self._cluster.synced:
            self._stand_aside(request, "the cluster state was not complete yet")
            return Answer(verb.indifferent(request), "not_synced")
        try:
            answer = Answer(await verb.decide(request), "ok")
        except Exception:  # noqa: BLE001  the boundary: no fault of ours may block a pod
            _log.exception(
                "%s failed for pod %s; it is answered as if we were not there", verb.name, request.pod
            )
            self._stand_aside(request, f"answering {verb.name} failed, the log says how")
            return Answer(verb.indifferent(request), "failed")
        _log.debug("%s answered for pod %s", verb.name, request.pod)
        return answer

    async def _filter(self, request: Request) -> bytes:
        snapshot, rows = await self._rows(request)
        known = np.flatnonzero(rows >= 0)
        note = fresh_note(request.pod)
        policy = with_plan(self._policy_of(request.pod), note)
        nodes = snapshot.nodes.take(rows[known])
        verdict = policy.filter(request.pod, nodes)
        failed: dict[str, str] = {}
        unresolvable = {request.names[index]: UNKNOWN_NODE for index in np.flatnonzero(rows < 0).tolist()}
        kept = self._spare_refused(request, known[verdict.feasible].tolist(), unresolvable)
        if self._decisions is not None:
            apart = dict(unresolvable)
            _after_the_answer(
                partial(self._decisions.filtered, request.pod, policy, nodes, verdict, apart=apart, note=note)
            )
        for rule, rejected in verdict.rejections:
            self._metrics.rejected.labels(rule.name).inc(rejected.size)
            reasons = failed if rule.resolvable else unresolvable
            reasons.update((request.names[index], rule.reason) for index in known[rejected].tolist())
        return protocol.encode_filter(request, kept, failed, unresolvable)

    def _spare_refused(
        self, request: Request, kept: Sequence[int], unresolvable: dict[str, str]
    ) -> Sequence[int]:
        """Leave out the nodes that refused the pod at its last binding, if others are left."""
        refused = self.binder.take_refused(request.pod.uid) if self.binder else frozenset()
        if not refused:
            return kept
        others = [index for index in kept if request.names[index] not in refused]
        if not others:
            return kept
        unresolvable.update((request.names[i], REFUSED_NODE) for i in kept if request.names[i] in refused)
        return others

    async def _prioritize(self, request: Request) -> bytes:
        snapshot, rows = await self._rows(request)
        known = np.flatnonzero(rows >= 0)
        note = fresh_note(request.pod)
        policy = with_plan(self._policy_of(request.pod), note)
        nodes = snapshot.nodes.take(rows[known])
        planned = planned_row(request.pod, note, policy, nodes) if note else None
        terms = tuple(policy.terms(request.pod, nodes))
        totals = weighted_sum(terms, len(nodes))
        if self._decisions is not None:
            ranked = partial(self._decisions.ranked, request.pod, policy, nodes, terms, totals)
            _after_the_answer(partial(ranked, note=note, planned=planned))
        if note is not None:
            self._metrics.planned.labels("unavailable" if planned is None else "preferred").inc()
        scores = levels(totals) if planned is None else boosted(len(nodes), planned)
        if len(nodes) == len(request.names):
            return protocol.encode_known_priorities(nodes.cluster.table, nodes.rows, scores)
        of_all = np.zeros(len(request.names), np.int64)
        of_all[known] = scores
        return protocol.encode_priorities(request.names, of_all.tolist())

    async def _preempt(self, request: PreemptRequest) -> bytes:
        cache = self._cluster.cache
        chosen = choose(request, cache.snapshot(), cache, self._policy_of(request.pod))
        return protocol.encode_preempt(chosen)

    def _stand_aside(self, request: Request | PreemptRequest, why: str) -> None:
        if self._decisions is not None and isinstance(request, Request):
            _after_the_answer(partial(self._decisions.stood_aside, request.pod, why))

    async def _rows(self, request: Request) -> tuple[Snapshot, Rows]:
        """The newest snapshot and the rows in it of the request's nodes, -1 for a node that it lacks."""
        cache = self._cluster.cache
        snapshot = cache.snapshot()
        rows = _rows_of(request.names, snapshot.nodes.cluster.table)
        unknown = [request.names[index] for index in np.flatnonzero(rows < 0).tolist()]
        if not unknown:
            return snapshot, rows
        new = [name for name in unknown if name not in self._waited]
        if new:
            self._waited.update(dict.fromkeys(new))
            await asyncio.to_thread(cache.wait_for_nodes, new, _UNKNOWN_NODE_WAIT_SECONDS)
            snapshot = cache.snapshot()
            rows = _rows_of(request.names, snapshot.nodes.cluster.table)
        missing = np.flatnonzero(rows < 0)
        if missing.size:
            self._metrics.unknown.inc(missing.size)
            _log.warning("node %s is not in the cluster state", request.names[int(missing[0])])
        return snapshot, rows


def _after_the_answer(record: Callable[[], None]) -> None:
    """kube-scheduler does not wait for our memory, and no fault in it can change the answer."""
    asyncio.get_running_loop().call_soon(record)


@lru_cache(maxsize=16)
def _rows_of(names: tuple[str, ...], table: NodeTable) -> Rows:
    """Remembered, because the same nodes come again and again while no node changes."""
    return table.rows_of_all(names)


def _keep_all(request: Request) -> bytes:
    return protocol.encode_filter(request, range(len(request.names)), {}, {})


def _prefer_none(request: Request) -> bytes:
    return protocol.encode_priorities(request.names, [0] * len(request.names))


def _keep_all_victims(request: PreemptRequest) -> bytes:
    return protocol.encode_preempt(request.victims)
