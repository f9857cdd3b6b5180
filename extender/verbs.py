"""The answers to kube-scheduler: request bytes in, answer bytes out."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extender import protocol
from extender.bind import Binder
from extender.lookup import Lookup, View, WatchBehindError, find
from extender.metrics import ExtenderMetrics
from extender.preempt import choose
from extender.protocol import PreemptRequest, Request
from extender.verb import Answer, ClusterState, Context, Counted, Verb, record_later
from extender.waker import Waker
from scoring.filters import conflicts
from scoring.filters.reserved_room import ReservedRoom
from scoring.policy import Policy, Verdict, hinted, weighted_sum
from scoring.ranking import chosen, foremost, levels
from tradewind.cluster import hints
from tradewind.cluster.assumed import AssumedPod, AssumedPods, gang_key
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.errors import RequestError
from tradewind.explain.decisions import Decisions
from tradewind.planner.boost import PlannedNodeOnly, boosted, fresh_plan, planned_row, with_plan
from tradewind.planner.gang_room import GangRoom, WholeGangFits, with_gang
from tradewind.planner.plan_annotation import PlanAnnotation

UNKNOWN_NODE = "node(s) were not known to Tradewind yet"
REFUSED_NODE = "node(s) refused the pod when it was about to be bound"
OTHER_NODE = "node(s) weren't the best for a pod whose place other pods depend on"

# A binding takes milliseconds. Where volumes take longer, the pod may be counted on no node for a while.
_ASSUMED_SECONDS = 10.0
# The other members of a gang are woken by the first that is bound, after a back-off of 10 s at most.
_RESERVED_SECONDS = 30.0

# Hints for which a rule counts the pods that carry them.
_COUNTED = (hints.ONE_PER_NODE, hints.MAX_PER_ZONE, hints.XOR)

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
        recheck: Callable[[], bool] = lambda: False,
    ) -> None:
        """`recheck`: whether requests are checked again by the filters that kube-scheduler applies itself."""

        def of_request(pod: Pod) -> Policy:
            policy = policy_of(pod)
            return policy if recheck() else policy.own

        context = Context(cluster, of_request, metrics, decisions, shadow)
        requests = _Requests(cluster, metrics)
        self.filter = FilterVerb(context, requests, binder, GangRoom(policy_of))
        self.prioritize = PrioritizeVerb(context, requests)
        self.preempt = PreemptVerb(context)
        self.bind = BindVerb(context, binder) if binder else None
        cluster.cache.assumed.observe = partial(_count_expected, metrics)


def _count_expected(metrics: ExtenderMetrics, entry: AssumedPod, outcome: str) -> None:
    if not entry.hard:
        metrics.expected.labels(outcome).inc()


class _Requests:
    """What filter and prioritize remember of each other: the next request mostly repeats the last."""

    def __init__(self, cluster: ClusterState, metrics: ExtenderMetrics) -> None:
        self.assumed = cluster.cache.assumed
        self.lookup = Lookup(cluster.cache, metrics, cluster.now)
        self._newest: tuple[bytes, Request] | None = None  # as it came, and as it was read

    def decode(self, body: bytes) -> Request:
        """Prioritize is sent what filter was sent before it, byte by byte, if no node was rejected."""
        if self._newest is None or self._newest[0] != body:
            self._newest = body, protocol.decode(body)
        return self._newest[1]

    def expect(self, pod: Pod, node_name: str) -> None:
        if not pod.pod_group:
            expect(pod, node_name, self.assumed)


class _NodeVerb(Verb[Request]):
    """Of a pod and the nodes that it may go to."""

    def __init__(self, context: Context, requests: _Requests) -> None:
        super().__init__(context)
        self._requests = requests

    def decode(self, body: bytes) -> Request:
        return self._requests.decode(body)

    async def wait(self, behind: WatchBehindError) -> None:
        await self._requests.lookup.wait(behind)


class _Judgement(NamedTuple):
    policy: Policy
    plan: PlanAnnotation | None
    verdict: Verdict
    kept: Sequence[int]  # indices into the names
    left_out: Mapping[str, str]  # nodes that no rule rejected, with the reason


class FilterVerb(_NodeVerb):
    name = "filter"
    # A malformed request gets an Error, which kube-scheduler reads as ours, not as "no node fits".
    malformed_status = HTTPStatus.OK

    def __init__(
        self, context: Context, requests: _Requests, binder: Binder | None, gang_room: GangRoom
    ) -> None:
        super().__init__(context, requests)
        self._binder = binder
        self._assumed = requests.assumed
        self._gang_room = gang_room
        self.waker = Waker(context.cluster, self.would_pass)

    def decide(self, request: Request, *, waited: bool, deadline: float) -> bytes:
        view = self._requests.lookup.fresh(request, waited=waited)
        if not waited and (pods := self._conflicting(request.pod, view)):
            raise WatchBehindError(pods=pods)
        judged = self._judge(request, view, deadline)
        kept, left_out = judged.kept, dict(judged.left_out)
        if not kept:
            self._assumed.forget(request.pod.uid)
        elif request.pod.pod_group:
            pass  # kube-scheduler tries the group in one placement after another: this may be any of them
        elif hinted(request.pod, view.nodes) and matters(request.pod, view.nodes.cluster.roster):
            kept = self._send(request, view, judged, left_out)
        elif len(kept) == 1:  # nobody will ask which to prefer
            self._requests.expect(request.pod, request.names[kept[0]])
        if self._binder:
            self._binder.forget_refusals(request.pod.uid)
        self.waker.answered(request, placeable=bool(kept))
        if (decisions := self._context.decisions) is not None:
            filtered = partial(decisions.filtered, request.pod, judged.policy, view.nodes, judged.verdict)
            record_later(partial(filtered, apart=left_out, plan=judged.plan))
        return self._encode(request, view, judged.verdict, kept, left_out)

    def would_pass(self, request: Request) -> bool:
        """Whether a node is left for the pod by now; nothing is promised."""
        lookup, snapshot = self._requests.lookup, self._cluster.cache.snapshot()
        view = lookup.look(request, snapshot, find(request.names, snapshot.nodes.cluster.table))
        return bool(self._judge(request, view).kept)

    def rehearse(self, request: Request) -> None:
        decisions = self._context.decisions
        if decisions is not None:
            nodes = self._requests.lookup.fresh(request, waited=True).nodes
            policy = self._context.policy_of(request.pod)
            verdict = policy.filter(request.pod, nodes)
            decisions.filtered(request.pod, policy, nodes, verdict, apart={}, shadow=True)

    def fail_open(self, request: Request) -> bytes:
        return protocol.encode_filter(request, range(len(request.names)), {}, {})

    def _judge(self, request: Request, view: View, deadline: float = math.inf) -> _Judgement:
        pod, nodes = request.pod, view.nodes
        plan = fresh_plan(pod, self._cluster.now())
        policy = with_plan(self._context.policy_of(pod), plan)
        if pod.gang and not (plan and plan.strict):
            policy = self._with_gang(policy, pod, nodes)
        verdict = policy.filter(pod, nodes, deadline)
        kept, left_out = self._spare(
            request, view, view.found.kept(verdict), rejected=bool(verdict.rejections)
        )
        return _Judgement(policy, plan, verdict, kept, left_out)

    def _with_gang(self, policy: Policy, pod: Pod, nodes: Nodes) -> Policy:
        """With the node reserved for the pod while that can take it, else with room for the whole gang."""
        reserved = self._assumed.find(pod.uid)
        if reserved is not None and reserved.gang:
            on_it = replace(policy, filters=(PlannedNodeOnly(reserved.pod.node_name), *policy.filters))
            if on_it.filter(pod, nodes).feasible.any():
                return on_it
        return with_gang(policy, pod, self._gang_room)

    def _spare(
        self, request: Request, view: View, known: Sequence[int], *, rejected: bool
    ) -> tuple[Sequence[int], dict[str, str]]:
        """Leave out nodes that the pod had better not use, as long as others are left.

        No change in the cluster tells when a refusal or a reservation ends. So neither may leave the pod
        without a node that kube-scheduler has found for it. A node that our watch has not brought yet is
        left out only if rules of ours may be against it: then the pod is woken when the node comes.
        """
        pod, names, left_out = request.pod, request.names, dict[str, str]()
        kept, unknown = known, view.found.unknown
        if unknown and (rejected or pod.annotations or pod.gang):
            left_out |= dict.fromkeys((names[index] for index in unknown), UNKNOWN_NODE)
        elif unknown:
            kept = sorted([*known, *unknown])
        for reason, closed in self._closed(request, view):
            others = [index for index in kept if names[index] not in closed] if closed else []
            if others and len(others) < len(kept):
                left_out |= {names[index]: reason for index in kept if names[index] in closed}
                kept = others
        return kept, left_out

    def _closed(self, request: Request, view: View) -> Sequence[tuple[str, frozenset[str]]]:
        refused = self._binder.refused(request.pod.uid) if self._binder else frozenset[str]()
        reserved = frozenset[str]()
        if view.reserved:
            taken = ~ReservedRoom(view.reserved).feasible(request.pod, view.nodes)
            reserved = frozenset(view.nodes.names_at(np.flatnonzero(taken).tolist()))
        return [(REFUSED_NODE, refused), (ReservedRoom.reason, reserved)]

    def _encode(
        self,
        request: Request,
        view: View,
        verdict: Verdict,
        kept: Sequence[int],
        left_out: Mapping[str, str],
    ) -> bytes:
        failed = {name: reason for name, reason in left_out.items() if reason == UNKNOWN_NODE}
        unresolvable = {name: reason for name, reason in left_out.items() if reason != UNKNOWN_NODE}
        for rule, rejected in verdict.rejections:
            self._context.metrics.rejected.labels(rule.name).inc(rejected.size)
            reasons = failed if rule.resolvable else unresolvable
            indices = view.found.known[rejected].tolist()
            reasons.update((request.names[index], rule.reason) for index in indices)
        return protocol.encode_filter(request, kept, failed, unresolvable)

    def _conflicting(self, pod: Pod, view: View) -> list[Pod]:
        """The pods that it conflicts with whose bindings our watch has not brought yet."""
        if hints.CONFLICTS not in pod.annotations:
            return []
        patterns = hints.readable(pod).conflicts
        return [each for each in self._assumed.expected(view.snapshot, pod) if hints.is_named(patterns, each)]

    def _send(
        self, request: Request, view: View, judged: _Judgement, left_out: dict[str, str]
    ) -> Sequence[int]:
        """To one node, the best: others must know where the pod will be before the watch brings it."""
        pod, nodes = request.pod, view.nodes
        rows = np.flatnonzero(np.isin(view.found.known, judged.kept))
        if not rows.size:  # nodes that we do not know
            return judged.kept
        best = int(rows[np.argmax(judged.policy.total(pod, nodes.take(rows)))])
        chosen = int(view.found.known[best])
        self._assumed.assume(pod, request.names[chosen], _ASSUMED_SECONDS, hard=True)
        for rule in judged.policy.filters:
            if isinstance(rule, WholeGangFits):
                others = rule.others(pod, request.names[chosen], nodes)
                if others:
                    self._assumed.reserve(gang_key(pod), others, _RESERVED_SECONDS)
        left_out |= {request.names[index]: OTHER_NODE for index in judged.kept if index != chosen}
        return [chosen]


def matters(pod: Pod, roster: Roster) -> bool:
    """Whether a rule of another pod looks at where this one is."""
    if pod.gang or any(key in pod.annotations for key in _COUNTED):
        return True
    return any(roster.followers(str(pod))) or conflicts.concerns(pod, roster)


class PrioritizeVerb(_NodeVerb):
    name = "prioritize"

    def decide(self, request: Request, *, waited: bool, deadline: float) -> bytes:
        plan = fresh_plan(request.pod, self._cluster.now())
        lookup = self._requests.lookup
        # A plan is to be kept only if it still can be: by the newest state.
        view = (lookup.fresh if plan else lookup.again)(request, waited=waited)
        policy = with_plan(self._context.policy_of(request.pod), plan)
        planned = planned_row(request.pod, plan, policy, view.nodes) if plan else None
        nodes = with_expected(request.pod, view.nodes, view.snapshot, self._requests.assumed)
        terms = tuple(policy.terms(request.pod, nodes, deadline))
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
            self._requests.expect(request.pod, nodes.names_at([best])[0])
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


def expect(pod: Pod, node_name: str, assumed: AssumedPods) -> None:
    """The node that was ranked first is where the pod goes nearly always."""
    assumed.assume(pod, node_name, _ASSUMED_SECONDS, hard=False)


def with_expected(pod: Pod, nodes: Nodes, snapshot: Snapshot, assumed: AssumedPods) -> Nodes:
    """The nodes with less room by the pods that are expected on them; other rules do not count these.

    Neither they nor the pod itself are among those to come. If the watch has not brought one of them yet,
    they have only begun to come, and how many will is not known.
    """
    others = assumed.expected(snapshot, pod)
    nodes = nodes.taken(others)
    if nodes.cluster.to_come is None:
        return nodes
    to_come = Counter(nodes.cluster.to_come)
    for each in (pod, *others):
        to_come.subtract(each.requests)
    known = +to_come if min(to_come.values()) >= 0 else None
    return replace(nodes, cluster=replace(nodes.cluster, to_come=known))


class PreemptVerb(Verb[PreemptRequest]):
    name = "preempt"

    def decode(self, body: bytes) -> PreemptRequest:
        return protocol.decode_preempt(body)

    def decide(self, request: PreemptRequest, *, waited: bool, deadline: float) -> bytes:
        del waited
        cache = self._cluster.cache
        chosen = choose(request, cache.snapshot(), cache, self._context.policy_of(request.pod), deadline)
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
