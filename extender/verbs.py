"""The answers to kube-scheduler: request bytes in, answer bytes out.

Whatever goes wrong here must not keep a pod from being scheduled: before the cluster state is complete, and
when a rule fails, every node passes and none is preferred, as if Tradewind were not there.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from cachetools import TTLCache
from prometheus_client import Counter, Histogram

from extender import protocol
from extender.bind import Binder
from extender.metrics import ExtenderMetrics
from extender.preempt import choose
from extender.protocol import PreemptRequest, Request
from scoring.policy import Policy, Verdict, weighted_sum
from scoring.ranking import levels
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.table import NodeTable, Rows
from tradewind.errors import RequestError
from tradewind.explain.decisions import Decisions
from tradewind.planner.boost import boosted, fresh_plan, planned_row, with_plan

UNKNOWN_NODE = "node is not known to Tradewind yet"
REFUSED_NODE = "node refused the pod when it was about to be bound"

# kube-scheduler's watch may be ahead of ours when a node is new. Rejecting the node at once could leave the
# pod waiting for the next cluster event; so the first request with a new name waits this long for our watch.
_UNKNOWN_NODE_WAIT_SECONDS = 0.25
_UNKNOWN_NODE_MEMORY_SECONDS = 60.0

_OUTCOMES = ("ok", "malformed", "not_synced", "failed")

# Between the filter and the prioritize request of a pod, at most, for one view of the cluster to serve both.
_VIEW_SECONDS = 0.1

Asked = TypeVar("Asked", Request, PreemptRequest)

_log = logging.getLogger(__name__)


class ClusterState(Protocol):
    @property
    def cache(self) -> Cache: ...

    @property
    def synced(self) -> bool: ...


class Answer(NamedTuple):
    body: bytes
    outcome: str
    status: int = 200


class NewNodesError(Exception):
    """There are nodes in a request of which our watch may bring word in a moment."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"{len(names)} nodes are new")
        self.names = names


@dataclass(frozen=True, kw_only=True)
class Verb(Generic[Asked]):
    """How one verb is answered, and what it says when it cannot be."""

    name: str
    cluster: ClusterState
    decode: Callable[[bytes], Asked]
    decide: Callable[[Asked, bool], bytes]  # or NewNodesError, unless they were waited for
    indifferent: Callable[[Asked], bytes]  # as if Tradewind were not there
    stand_aside: Callable[[Asked, str], None]  # says why in the record
    wait: Callable[[Sequence[str]], Awaitable[None]]  # for new nodes
    counts: Mapping[str, Counter]  # of requests, by outcome
    seconds: Histogram
    malformed_status: int = HTTPStatus.BAD_REQUEST

    async def __call__(self, body: bytes) -> Answer:
        started = time.perf_counter()
        try:
            return self._measured(body, started, waited=False)
        except NewNodesError as new:
            await self.wait(new.names)
        return self._measured(body, started, waited=True)

    def at_once(self, body: bytes) -> Answer:
        """Raise NewNodesError where it is better to wait."""
        return self._measured(body, time.perf_counter(), waited=False)

    def _measured(self, body: bytes, started: float, *, waited: bool) -> Answer:
        answer = self._answer(body, waited=waited)
        self.counts[answer.outcome].inc()
        self.seconds.observe(time.perf_counter() - started)
        return answer

    def _answer(self, body: bytes, *, waited: bool) -> Answer:
        try:
            request = self.decode(body)
        except RequestError as error:
            _log.warning("%s request refused: %s", self.name, error)
            return Answer(protocol.encode_error(str(error)), "malformed", self.malformed_status)
        if not self.cluster.synced:
            self.stand_aside(request, "the cluster state was not complete yet")
            return Answer(self.indifferent(request), "not_synced")
        try:
            answer = Answer(self.decide(request, waited), "ok")
        except NewNodesError:
            raise
        except Exception:  # noqa: BLE001  the boundary: no fault of ours may block a pod
            _log.exception(
                "%s failed for pod %s; it is answered as if we were not there", self.name, request.pod
            )
            self.stand_aside(request, f"answering {self.name} failed, the log says how")
            return Answer(self.indifferent(request), "failed")
        _log.debug("%s answered for pod %s", self.name, request.pod)
        return answer


class Verbs:
    def __init__(
        self,
        cluster: ClusterState,
        policy_of: Callable[[Pod], Policy],
        metrics: ExtenderMetrics,
        binder: Binder | None = None,
        decisions: Decisions | None = None,
    ) -> None:
        self._cluster = cluster
        self._policy_of = policy_of
        self._metrics = metrics
        self.binder = binder
        self._decisions = decisions
        self._waited: TTLCache[str, None] = TTLCache(4096, ttl=_UNKNOWN_NODE_MEMORY_SECONDS)
        self._newest: tuple[bytes, Request] | None = None  # as it came, and as it was read
        self._view: _View | None = None
        # A malformed filter request gets an Error, which kube-scheduler reads as ours, not as "no node fits".
        self.filter = self._verb("filter", self._decode, self._filter, _keep_all, HTTPStatus.OK)
        self.prioritize = self._verb("prioritize", self._decode, self._prioritize, _prefer_none)
        self.preempt = self._verb("preempt", protocol.decode_preempt, self._preempt, _keep_all_victims)

    def _verb(
        self,
        name: str,
        decode: Callable[[bytes], Asked],
        decide: Callable[[Asked, bool], bytes],
        indifferent: Callable[[Asked], bytes],
        malformed_status: int = HTTPStatus.BAD_REQUEST,
    ) -> Verb[Asked]:
        return Verb(
            name=name,
            cluster=self._cluster,
            decode=decode,
            decide=decide,
            indifferent=indifferent,
            stand_aside=self._stand_aside,
            wait=self._wait,
            counts={outcome: self._metrics.requests.labels(name, outcome) for outcome in _OUTCOMES},
            seconds=self._metrics.request_seconds.labels(name),
            malformed_status=malformed_status,
        )

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

    def _decode(self, body: bytes) -> Request:
        """Prioritize is sent what filter was sent before it, byte by byte, if no node was rejected."""
        if self._newest is None or self._newest[0] != body:
            self._newest = body, protocol.decode(body)
        return self._newest[1]

    def _filter(self, request: Request, waited: bool) -> bytes:
        view = self._view = self._look(request, waited=waited)
        found, nodes = view.found, view.nodes
        plan = fresh_plan(request.pod)
        policy = with_plan(self._policy_of(request.pod), plan)
        verdict = policy.filter(request.pod, nodes)
        failed: dict[str, str] = {}
        unresolvable = {request.names[index]: UNKNOWN_NODE for index in found.unknown}
        kept = self._spare_refused(request, found.kept(verdict), unresolvable)
        if self._decisions is not None:
            apart = dict(unresolvable)
            filtered = partial(self._decisions.filtered, request.pod, policy, nodes, verdict)
            _after_the_answer(partial(filtered, apart=apart, plan=plan))
        for rule, rejected in verdict.rejections:
            self._metrics.rejected.labels(rule.name).inc(rejected.size)
            reasons = failed if rule.resolvable else unresolvable
            reasons.update((request.names[index], rule.reason) for index in found.known[rejected].tolist())
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

    def _prioritize(self, request: Request, waited: bool) -> bytes:
        plan = fresh_plan(request.pod)
        view = self._view
        if plan or view is None or view.request is not request or time.monotonic() > view.until:
            view = self._look(request, waited=waited)
        found, nodes = view.found, view.nodes
        policy = with_plan(self._policy_of(request.pod), plan)
        planned = planned_row(request.pod, plan, policy, nodes) if plan else None
        terms = tuple(policy.terms(request.pod, nodes))
        totals = weighted_sum(terms, len(nodes))
        if self._decisions is not None:
            ranked = partial(self._decisions.ranked, request.pod, policy, nodes, terms, totals)
            _after_the_answer(partial(ranked, plan=plan, planned=planned))
        if plan is not None:
            self._metrics.planned.labels("unavailable" if planned is None else "preferred").inc()
        scores = levels(totals) if planned is None else boosted(len(nodes), planned)
        if not found.unknown:
            return protocol.encode_known_priorities(nodes.cluster.table, found.rows, scores)
        of_all = np.zeros(len(request.names), np.int64)
        of_all[found.known] = scores
        return protocol.encode_priorities(request.names, of_all.tolist())

    def _preempt(self, request: PreemptRequest, _waited: bool) -> bytes:
        cache = self._cluster.cache
        chosen = choose(request, cache.snapshot(), cache, self._policy_of(request.pod))
        return protocol.encode_preempt(chosen)

    def _stand_aside(self, request: Request | PreemptRequest, why: str) -> None:
        if self._decisions is not None and isinstance(request, Request):
            _after_the_answer(partial(self._decisions.stood_aside, request.pod, why))

    def _look(self, request: Request, *, waited: bool) -> "_View":
        """At the newest snapshot; raise NewNodesError if it is better to wait."""
        snapshot = self._cluster.cache.snapshot()
        found = _find(request.names, snapshot.nodes.cluster.table)
        if found.unknown:
            self._check([request.names[index] for index in found.unknown], waited=waited)
        return _View(request, found, snapshot.nodes.take(found.rows), time.monotonic() + _VIEW_SECONDS)

    def _check(self, unknown: Sequence[str], *, waited: bool) -> None:
        new = [] if waited else [name for name in unknown if name not in self._waited]
        if new:
            raise NewNodesError(new)
        self._metrics.unknown.inc(len(unknown))
        _log.warning("node %s is not in the cluster state", unknown[0])

    async def _wait(self, new: Sequence[str]) -> None:
        self._waited.update(dict.fromkeys(new))
        await asyncio.to_thread(self._cluster.cache.wait_for_nodes, new, _UNKNOWN_NODE_WAIT_SECONDS)


class _View(NamedTuple):
    """What filter looked at: prioritize, which follows at once, ranks the same nodes in the same state.

    Not for a pod that carries a plan, which is to be kept only if it still can be.
    """

    request: Request
    found: "_Found"
    nodes: Nodes
    until: float  # by the monotonic clock


class _Found(NamedTuple):
    """A request's nodes in a table."""

    asked: int  # how many names
    known: Rows  # which of the names are in the table
    rows: Rows  # where they are in it
    unknown: Sequence[int]  # which of the names are not

    def kept(self, verdict: Verdict) -> Sequence[int]:
        """Indices into the names."""
        if not verdict.rejections and not self.unknown:
            return range(self.asked)
        kept: list[int] = self.known[verdict.feasible].tolist()
        return kept


def _find(names: tuple[str, ...], table: NodeTable) -> _Found:
    rows = table.rows_of_all(names)
    known_mask = rows >= 0
    if known_mask.all():
        return _Found(len(names), np.arange(rows.size), rows, ())
    known = np.flatnonzero(known_mask)
    return _Found(len(names), known, rows[known], np.flatnonzero(~known_mask).tolist())


def _after_the_answer(record: Callable[[], None]) -> None:
    """kube-scheduler does not wait for our memory, and no fault in it can change the answer."""
    asyncio.get_running_loop().call_soon(_keep, record)


def _keep(record: Callable[[], None]) -> None:
    """The event loop would log a fault with all of the record's arrays, and answer nobody meanwhile."""
    try:
        record()
    except Exception:  # noqa: BLE001  any defect at all; it is logged with its trace
        _log.exception("what was decided could not be kept for those who ask why")


def _keep_all(request: Request) -> bytes:
    return protocol.encode_filter(request, range(len(request.names)), {}, {})


def _prefer_none(request: Request) -> bytes:
    return protocol.encode_priorities(request.names, [0] * len(request.names))


def _keep_all_victims(request: PreemptRequest) -> bytes:
    return protocol.encode_preempt(request.victims)
