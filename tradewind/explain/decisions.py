"""What was decided for which pod, kept for a while for people who ask why.

A record is made after the answer has gone out, but on the thread of the next answer, and there may be
thousands. So it holds the best nodes and a few examples of the others as small columns, which keep no
snapshot alive; words and sentences are made when somebody asks.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from scoring.filters.min_available import MinAvailable
from scoring.filters.resources import Resources
from scoring.policy import Policy, Verdict, WeightedScores, weighted_sum
from scoring.ranking import Levels, chosen, levels
from scoring.rules import Scorer, Scores
from scoring.scorers.guide import GuideScore
from scoring.scorers.price import Price, pod_cost
from tradewind.cluster.guide import Guide
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Floats, Nodes, Supply
from tradewind.cluster.table import Mask, Rows
from tradewind.planner.boost import boosted
from tradewind.planner.plan_annotation import PlanAnnotation


class Detail(NamedTuple):
    """How much of one decision is kept."""

    ranked: int = 10  # nodes, the best first; beside them the one with the best price and the planned one
    examples: int = 10  # nodes that one rule rejected, the cheapest first
    candidates: int = 100  # names; nobody reads more


BRIEF = Detail()
_LAST = 1e6  # dollars an hour: after all others, and still in order among themselves


class Rejected(msgspec.Struct, frozen=True, gc=False):
    rule: str
    reason: str
    resolvable: bool
    count: int
    names: tuple[str, ...]  # examples
    costs: Floats  # (E,) dollars an hour of the pod there, NaN where unknown or never to be had
    short_of: tuple[tuple[str, int], ...] = ()  # resource, and how many of the nodes lack it
    detail: str = ""  # what the reason, one sentence for all pods, does not say


class Filtering(msgspec.Struct, frozen=True, gc=False):
    cluster_nodes: int  # how many there were, asked about or not
    candidates: int
    names: tuple[str, ...]  # of candidates
    passed: int
    rejected: tuple[Rejected, ...]  # in the order of the rules


class Ranking(msgspec.Struct, frozen=True, gc=False):
    """T nodes by S scorers, the best first."""

    count: int  # of all nodes that were ranked
    best_count: int  # of those that share the best total
    scorers: tuple[tuple[Scorer, float], ...]  # with their weights, those of weight 0 left out
    names: tuple[str, ...]
    totals: Scores  # (T,)
    ranks: Rows  # (T,) from 1; equal totals share one
    worst_total: float  # of all nodes
    scores: Scores  # (S, T)
    costs: Floats  # (T,) dollars an hour of the pod there, NaN where unknown
    prices: Floats  # (T,) dollars an hour of the node
    median_prices: Floats  # (T,) the same over a longer time
    interruption_rates: Floats  # (T,)
    durable: Mask  # (T,)
    planned: int | None = None  # the row of a planned node that went before the scores
    chosen: int | None = None  # the row of the one of several best that was put before the others
    guide: Guide | None = None  # that was followed

    @property
    def levels(self) -> Levels:
        """(T,) as answered: the best and the worst of all nodes set the scale, unless there is a plan."""
        if self.planned is not None:
            return boosted(len(self.names), self.planned)
        return levels(np.append(self.totals, self.worst_total), self.chosen)[:-1]

    @property
    def runner_up(self) -> int | None:
        """The first that is worse than the best; None where no such node is kept."""
        return next((row for row, rank in enumerate(self.ranks.tolist()) if rank > 1), None)

    def row_of(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None


class Decision(msgspec.Struct, frozen=True, gc=False):
    """The newest answers about one pod."""

    uid: str
    decided_at: float  # seconds since 1970
    attempts: int = 1  # filter requests
    policy: Policy | None = None
    filtering: Filtering | None = None  # None: another replica answered, or we stood aside
    ranking: Ranking | None = None  # None: nobody asked, or another replica answered
    failed_open: str = ""  # why we answered as if we were not there
    plan: PlanAnnotation | None = None  # the plan that the pod carried, if it was fresh
    shadow: bool = False  # kube-scheduler was not told


class Decisions:
    """The newest decision for each pod; the oldest are forgotten by number and by age."""

    def __init__(self, most: int, age_seconds: float) -> None:
        self._most = most
        self._age_seconds = age_seconds
        self._kept: OrderedDict[tuple[str, str], Decision] = OrderedDict()  # the newest last
        self._lock = threading.Lock()  # people read all of them from another thread

    def find(self, namespace: str, name: str) -> Decision | None:
        found = self._kept.get((namespace, name))
        return found if found and time.time() - found.decided_at < self._age_seconds else None

    def newest(self) -> list[tuple[tuple[str, str], Decision]]:
        """All that are not forgotten by (namespace, name), the newest first."""
        with self._lock:
            kept = list(self._kept.items())
        oldest = time.time() - self._age_seconds
        return [(key, decision) for key, decision in reversed(kept) if decision.decided_at > oldest]

    def filtered(
        self,
        pod: Pod,
        policy: Policy,
        nodes: Nodes,
        verdict: Verdict,
        *,
        apart: Mapping[str, str],
        plan: PlanAnnotation | None = None,
        shadow: bool = False,
    ) -> None:
        """Keep the answer to a filter request; `apart` are nodes that no rule rejected, with the reason."""
        before = self._of(pod)
        attempts = before.attempts + 1 if before else 1
        decision = filter_decision(pod, policy, nodes, verdict, apart=apart, attempts=attempts, plan=plan)
        self._keep(pod, msgspec.structs.replace(decision, shadow=True) if shadow else decision)

    def ranked(
        self,
        pod: Pod,
        policy: Policy,
        nodes: Nodes,
        terms: Sequence[WeightedScores],
        totals: Scores,
        *,
        plan: PlanAnnotation | None = None,
        planned: int | None = None,
        shadow: bool = False,
    ) -> None:
        """Keep the answer to a prioritize request; `planned` is the row of a node that the plan put first."""
        before = self._of(pod) or Decision(pod.uid, time.time())
        ranking = ranking_of(pod, nodes, terms, totals, planned=planned)
        decision = Decision(
            pod.uid,
            before.decided_at,
            before.attempts,
            policy,
            before.filtering,
            ranking,
            plan=plan,
            shadow=shadow,
        )
        self._keep(pod, decision)

    def failed_open(self, pod: Pod, why: str) -> None:
        before = self._of(pod)
        attempts = before.attempts if before else 1
        self._keep(pod, Decision(pod.uid, time.time(), attempts=attempts, failed_open=why))

    def _of(self, pod: Pod) -> Decision | None:
        """A pod of the same name that is gone by now has no part in this."""
        found = self.find(pod.namespace, pod.name)
        return found if found is not None and found.uid == pod.uid else None

    def _keep(self, pod: Pod, decision: Decision) -> None:
        key = (pod.namespace, pod.name)
        with self._lock:
            self._kept[key] = decision
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)


def filter_decision(
    pod: Pod,
    policy: Policy,
    nodes: Nodes,
    verdict: Verdict,
    *,
    apart: Mapping[str, str],
    detail: Detail = BRIEF,
    attempts: int = 1,
    plan: PlanAnnotation | None = None,
) -> Decision:
    passed = np.flatnonzero(verdict.feasible)
    if apart:
        passed = np.array([row for row in passed.tolist() if nodes.names_at([row])[0] not in apart], np.intp)
    known = nodes.cluster.table.row_of
    unknown = [name for name in apart if name not in known]
    filtering = Filtering(
        cluster_nodes=len(known),
        candidates=len(nodes) + len(unknown),
        names=(*nodes.names_at(slice(detail.candidates)), *unknown)[: detail.candidates],
        passed=passed.size,
        rejected=(*_rejected(pod, nodes, verdict, detail.examples), *_set_apart(apart, detail.examples)),
    )
    ranking = None
    if passed.size == 1:  # kube-scheduler does not ask which of one node to prefer, but people ask its price
        only = nodes.take(passed)
        terms = tuple(policy.terms(pod, only))
        ranking = ranking_of(pod, only, terms, weighted_sum(terms, 1), detail)
    return Decision(pod.uid, time.time(), attempts, policy, filtering, ranking, plan=plan)


def ranking_of(
    pod: Pod,
    nodes: Nodes,
    terms: Sequence[WeightedScores],
    totals: Scores,
    detail: Detail = BRIEF,
    *,
    planned: int | None = None,
) -> Ranking | None:
    if not len(nodes):
        return None
    first = chosen(pod, totals, nodes)
    best = _smallest(-totals, detail.ranked).tolist()
    beside = [*_favourite_by_price(terms), *([] if planned is None else [planned])]
    found = list(dict.fromkeys([*([] if first is None else [first]), *best, *beside]))
    rows = np.array(found, np.intp)
    kept, kept_totals = nodes.take(rows), totals.take(rows)
    return Ranking(
        count=len(nodes),
        best_count=int(np.count_nonzero(totals == kept_totals[0])),
        scorers=tuple([(term.rule, term.weight) for term in terms]),
        names=kept.names,
        totals=kept_totals,
        ranks=_ranks(totals, kept_totals.tolist(), len(best)),
        worst_total=float(totals.min()),
        scores=np.array([term.scores.take(rows) for term in terms]).reshape(len(terms), rows.size),
        costs=pod_cost(pod, kept),
        prices=kept.price,
        median_prices=kept.median_price,
        interruption_rates=kept.interruption_rate,
        durable=kept.durable,
        planned=None if planned is None else found.index(planned),
        chosen=None if first is None else 0,
        guide=nodes.cluster.guide if any(term.rule.name == GuideScore.name for term in terms) else None,
    )


def _ranks(totals: Scores, kept: list[float], best: int) -> Rows:
    """Of the best, which are all kept, by comparing them with each other; of the rest with all."""
    first = [kept.index(total) for total in kept[:best]]
    others = [np.count_nonzero(totals > total) for total in kept[best:]]
    return np.array([*first, *others], np.intp) + 1


def _favourite_by_price(terms: Sequence[WeightedScores]) -> list[int]:
    return [int(term.scores.argmax()) for term in terms if term.rule.name == Price.name]


def _smallest(values: Floats, most: int) -> Rows:
    """The rows of the smallest values in order; equal ones keep theirs, NaN comes last."""
    if values.size <= most:
        return values.argsort(kind="stable")
    rows = np.sort(values.argpartition(most - 1)[:most])
    return rows[values[rows].argsort(kind="stable")]


def _rejected(pod: Pod, nodes: Nodes, verdict: Verdict, examples: int) -> Iterator[Rejected]:
    if not verdict.rejections:
        return
    large_enough = nodes.of_supply(_large_enough, tuple(pod.requests.items()))
    costs = pod_cost(pod, nodes)
    order = np.where(large_enough, costs, costs + _LAST)
    costs = np.where(large_enough, costs, np.nan)
    for rule, rows in verdict.rejections:
        cheapest = rows[_smallest(order[rows], examples)]
        names = nodes.names_at(cheapest.tolist())
        short_of = _shortages(rule, pod, nodes, rows) if isinstance(rule, Resources) else ()
        yield Rejected(
            rule.name,
            rule.reason,
            rule.resolvable,
            rows.size,
            names,
            costs[cheapest],
            tuple(short_of),
            rule.shortfall(pod, nodes, rows) if isinstance(rule, MinAvailable) else "",
        )


def _large_enough(supply: Supply, requests: tuple[tuple[str, int], ...]) -> Mask:
    """(N,) nodes that could hold the pod if they were empty; no other has a price for it."""
    enough = np.ones(supply.rows.size, np.bool_)
    for resource, request in requests:
        row = supply.resource_rows.get(resource)
        if row is not None:
            enough &= supply.allocatable[row] >= request
    return enough


def _shortages(rule: Resources, pod: Pod, nodes: Nodes, rows: Rows) -> Iterator[tuple[str, int]]:
    """The reason is the same sentence whichever resource is short; people want to know which."""
    for resource, enough in rule.fits(pod, nodes):
        if short := int(np.count_nonzero(~enough[rows])):
            yield resource, short


def _set_apart(apart: Mapping[str, str], examples: int) -> Iterator[Rejected]:
    for reason in dict.fromkeys(apart.values()):
        names = [name for name, why in apart.items() if why == reason]
        kept = tuple(names[:examples])
        yield Rejected("", reason, False, len(names), kept, np.full(len(kept), np.nan))
