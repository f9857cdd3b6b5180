"""The answers to kube-scheduler: request bytes in, answer bytes out."""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus

import numpy as np
from numpy.typing import NDArray

from extender import protocol
from extender.bind import Binder
from extender.expected import Expected
from extender.ledger import Ledger, matters
from extender.lookup import Lookup, View, WatchBehindError
from extender.metrics import ExtenderMetrics
from extender.preempt import choose
from extender.protocol import PreemptRequest, Request
from extender.verb import Answer, ClusterState, Context, Counted, Verb, record_later
from scoring.policy import Policy, hinted, weighted_sum
from scoring.ranking import chosen, foremost, levels
from tradewind.cluster.objects import Pod
from tradewind.errors import RequestError
from tradewind.explain.decisions import Decisions
from tradewind.planner.boost import boosted, fresh_plan, planned_row, with_plan
from tradewind.planner.gang_room import GangRoom, WholeGangFits, with_gang

UNKNOWN_NODE = "node(s) were not known to Tradewind yet"
REFUSED_NODE = "node(s) refused the pod when it was about to be bound"
OTHER_NODE = "node(s) weren't the best for a pod whose place other pods depend on"

_log = logging.getLogger(__name__)


class Verbs:
    """One of each, over the same cluster state."""

    def __init__(
        self,
        cluster: ClusterState,
        policy_of: Callable[[Pod], Policy],
        metrics: ExtenderMetrics,
        binder: Binder | None = None,
        decisions: Decisions | None = None,
        *,
        shadow: Callable[[], bool] = lambda: False,
    ) -> None:
        context = Context(cluster, policy_of, metrics, decisions, shadow)
        ledger, expected = Ledger(), Expected(metrics)
        requests = _Requests(cluster, metrics, ledger, expected)
        self.filter = FilterVerb(context, requests, binder, ledger)
        self.prioritize = PrioritizeVerb(context, requests)
        self.preempt = PreemptVerb(context)
        self.bind = BindVerb(context, binder) if binder else None


class _Requests:
    """What filter and prioritize remember of each other: the next request mostly repeats the last."""

    def __init__(
        self, cluster: ClusterState, metrics: ExtenderMetrics, ledger: Ledger, expected: Expected
    ) -> None:
        self.expected = expected
        self.lookup = Lookup(cluster.cache, metrics, ledger)
        self._newest: tuple[bytes, Request] | None = None  # as it came, and as it was read

    def decode(self, body: bytes) -> Request:
        """Prioritize is sent what filter was sent before it, byte by byte, if no node was rejected."""
        if self._newest is None or self._newest[0] != body:
            self._newest = body, protocol.decode(body)
        return self._newest[1]


class _NodeVerb(Verb[Request]):
    """Of a pod and the nodes that it may go to."""

    def __init__(self, context: Context, requests: _Requests) -> None:
        super().__init__(context)
        self._requests = requests

    def decode(self, body: bytes) -> Request:
        return self._requests.decode(body)

    async def wait(self, behind: WatchBehindError) -> None:
        await self._requests.lookup.wait(behind)


class FilterVerb(_NodeVerb):
    name = "filter"
    # A malformed request gets an Error, which kube-scheduler reads as ours, not as "no node fits".
    malformed_status = HTTPStatus.OK

    def __init__(self, context: Context, requests: _Requests, binder: Binder | None, ledger: Ledger) -> None:
        super().__init__(context, requests)
        self._binder = binder
        self._ledger = ledger
        self._gang_room = GangRoom(context.policy_of)

    def decide(self, request: Request, *, waited: bool) -> bytes:
        view = self._requests.lookup.fresh(request, waited=waited)
        found, nodes = view.found, view.nodes
        if not waited and (pods := self._ledger.missed(request.pod, nodes.cluster.roster)):
            raise WatchBehindError(pods=pods)
        plan = fresh_plan(request.pod)
        policy = with_plan(self._context.policy_of(request.pod), plan)
        if request.pod.gang and not (plan and plan.strict):
            policy = with_gang(policy, request.pod, self._gang_room)
        verdict = policy.filter(request.pod, nodes)
        failed = {request.names[index]: UNKNOWN_NODE for index in found.unknown}
        unresolvable: dict[str, str] = {}
        kept = self._spare_refused(request, found.kept(verdict), unresolvable)
        if hinted(request.pod, nodes) and matters(request.pod, nodes.cluster.roster):
            kept = self._send(request, view, policy, kept, unresolvable)
        elif kept:
            self._ledger.pass_on(request.pod)
            if len(kept) == 1:  # nobody will ask which to prefer
                self._requests.expected.expect(request.pod, request.names[kept[0]])
        if (decisions := self._context.decisions) is not None:
            filtered = partial(decisions.filtered, request.pod, policy, nodes, verdict)
            record_later(partial(filtered, apart=failed | unresolvable, plan=plan))
        for rule, rejected in verdict.rejections:
            self._context.metrics.rejected.labels(rule.name).inc(rejected.size)
            reasons = failed if rule.resolvable else unresolvable
            reasons.update((request.names[index], rule.reason) for index in found.known[rejected].tolist())
        return protocol.encode_filter(request, kept, failed, unresolvable)

    def rehearse(self, request: Request) -> None:
        decisions = self._context.decisions
        if decisions is not None:
            nodes = self._requests.lookup.fresh(request, waited=True).nodes
            policy = self._context.policy_of(request.pod)
            verdict = policy.filter(request.pod, nodes)
            decisions.filtered(request.pod, policy, nodes, verdict, apart={}, shadow=True)

    def fail_open(self, request: Request) -> bytes:
        return protocol.encode_filter(request, range(len(request.names)), {}, {})

    def _spare_refused(
        self, request: Request, kept: Sequence[int], unresolvable: dict[str, str]
    ) -> Sequence[int]:
        """Leave out the nodes that refused the pod at its last binding, if others are left."""
        refused = self._binder.take_refused(request.pod.uid) if self._binder else frozenset()
        if not refused:
            return kept
        others = [index for index in kept if request.names[index] not in refused]
        if not others:
            return kept
        unresolvable.update((request.names[i], REFUSED_NODE) for i in kept if request.names[i] in refused)
        return others

    def _send(
        self,
        request: Request,
        view: View,
        policy: Policy,
        kept: Sequence[int],
        unresolvable: dict[str, str],
    ) -> Sequence[int]:
        """To one node, the best: others must know where the pod will be before the watch brings it."""
        pod, nodes = request.pod, view.nodes
        if not kept:
            self._ledger.drop(pod)
            return kept
        rows = np.flatnonzero(np.isin(view.found.known, kept))
        best = int(rows[np.argmax(policy.total(pod, nodes.take(rows)))])
        chosen = int(view.found.known[best])
        self._ledger.send(pod, request.names[chosen])
        for rule in policy.filters:
            if isinstance(rule, WholeGangFits):
                self._ledger.reserve(pod, rule.others(pod, request.names[chosen], nodes))
        unresolvable.update((request.names[index], OTHER_NODE) for index in kept if index != chosen)
        return [chosen]


class PrioritizeVerb(_NodeVerb):
    name = "prioritize"

    def decide(self, request: Request, *, waited: bool) -> bytes:
        plan = fresh_plan(request.pod)
        lookup = self._requests.lookup
        # A plan is to be kept only if it still can be: by the newest state.
        view = (lookup.fresh if plan else lookup.again)(request, waited=waited)
        policy = with_plan(self._context.policy_of(request.pod), plan)
        planned = planned_row(request.pod, plan, policy, view.nodes) if plan else None
        nodes = self._requests.expected.counted(request.pod, view.nodes)
        terms = tuple(policy.terms(request.pod, nodes))
        totals = weighted_sum(terms, len(nodes))
        if (decisions := self._context.decisions) is not None:
            ranked = partial(decisions.ranked, request.pod, policy, nodes, terms, totals)
            record_later(partial(ranked, plan=plan, planned=planned))
        if plan is not None:
            outcome = "unavailable" if planned is None else "preferred"
            self._context.metrics.planned.labels(outcome).inc()
        first = chosen(request.pod, totals, nodes) if planned is None else planned
        if len(nodes):
            best = foremost(totals, nodes) if first is None else first
            self._requests.expected.expect(request.pod, nodes.names_at([best])[0])
        return _encoded(
            request, view, levels(totals, first) if planned is None else boosted(len(nodes), planned)
        )

    def rehearse(self, request: Request) -> None:
        """kube-scheduler names all nodes here, for none was rejected: only those that pass are ranked."""
        decisions = self._context.decisions
        if decisions is not None:
            nodes = self._requests.lookup.again(request, waited=True).nodes
            policy = self._context.policy_of(request.pod)
            passed = nodes.take(np.flatnonzero(policy.filter(request.pod, nodes).feasible))
            terms = tuple(policy.terms(request.pod, passed))
            totals = weighted_sum(terms, len(passed))
            decisions.ranked(request.pod, policy, passed, terms, totals, shadow=True)

    def fail_open(self, request: Request) -> bytes:
        return protocol.encode_priorities(request.names, [0] * len(request.names))


class PreemptVerb(Verb[PreemptRequest]):
    name = "preempt"

    def decode(self, body: bytes) -> PreemptRequest:
        return protocol.decode_preempt(body)

    def decide(self, request: PreemptRequest, *, waited: bool) -> bytes:
        del waited
        cache = self._cluster.cache
        chosen = choose(request, cache.snapshot(), cache, self._context.policy_of(request.pod))
        return protocol.encode_preempt(chosen)

    def fail_open(self, request: PreemptRequest) -> bytes:
        return protocol.encode_preempt(request.victims)


class BindVerb(Counted):
    """It cannot fail open, for a pod that nobody binds stays assumed: each answer says bound, or an error."""

    name = "bind"

    def __init__(self, context: Context, binder: Binder) -> None:
        super().__init__(context.metrics)
        self._cluster = context.cluster
        self._shadow = context.shadow
        self._binder = binder

    async def __call__(self, body: bytes) -> Answer:
        started = time.perf_counter()
        return self._count(await self._answer(body), started)

    async def _answer(self, body: bytes) -> Answer:
        try:
            request = protocol.decode_bind(body)
        except RequestError as error:
            _log.warning("bind request refused: %s", error)
            return Answer(protocol.encode_bind(str(error)), "malformed")
        outcome = "stale" if self._cluster.stale else "ok" if self._cluster.synced else "not_synced"
        try:
            checked = outcome == "ok" and not self._shadow()
            error_text = await self._binder.bind(request, checked=checked)
        except Exception as error:  # noqa: BLE001  the boundary: kube-scheduler must get an answer to a bind
            _log.exception("bind failed for pod %s/%s", request.namespace, request.name)
            return Answer(protocol.encode_bind(f"Tradewind failed: {error!r}"), "failed")
        return Answer(protocol.encode_bind(error_text), outcome)


def _encoded(request: Request, view: View, scores: NDArray[np.int64]) -> bytes:
    found = view.found
    if not found.unknown:
        return protocol.encode_known_priorities(view.nodes.cluster.table, found.rows, scores)
    of_all = np.zeros(len(request.names), np.int64)
    of_all[found.known] = scores
    return protocol.encode_priorities(request.names, of_all.tolist())
