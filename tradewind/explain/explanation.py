"""Why a pod is where it is: a decision and the cluster state joined, as sentences and as numbers."""

import math
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from tradewind.cluster.objects import Pod
from tradewind.explain.comparison import advantages
from tradewind.explain.decisions import Decision, Filtering, Ranking, Rejected
from tradewind.explain.sentences import Basis, sentences
from tradewind.planner.plan_annotation import PlanAnnotation


class Term(BaseModel):
    score: float = Field(description="0..1, higher is better")
    weighted: float = Field(description="the score times its weight; these add up to the total")


class Ranked(BaseModel):
    node: str
    rank: int = Field(description="from 1; equal totals share one")
    level: int = Field(description="0..10, as kube-scheduler gets it")
    total: float
    terms: dict[str, Term] = Field(description="by scorer")
    dollars_an_hour: float | None = Field(description="of the pod on this node; null where unknown")
    node_dollars_an_hour: float | None
    interruption_rate: float
    durable: bool
    price_from: str | None = Field(default=None, description="the source of the price, by now")
    interruption_rate_from: str | None = Field(default=None, description="the source of the rate, by now")


class RejectedNode(BaseModel):
    node: str
    dollars_an_hour: float | None


class RejectedBy(BaseModel):
    rule: str = Field(description="empty where it was no rule")
    reason: str
    resolvable: bool = Field(description="whether evicting pods could help, if the node is large enough")
    count: int
    short_of: dict[str, int] = Field(description="resources that are too scarce, and on how many nodes")
    detail: str = Field(description="what the reason, one sentence for all pods, does not say")
    examples: list[RejectedNode] = Field(description="the cheapest for this pod first")


class Candidates(BaseModel):
    cluster_nodes: int
    count: int
    names: list[str] = Field(description="the first 100")
    passed: int
    rejected: list[RejectedBy]


class Decided(BaseModel):
    """What put the best node before the next one."""

    runner_up: str
    by: str = Field(description="the scorer with the largest weighted difference")
    difference: float
    winner_offers: list[str]
    runner_up_offers: list[str]


class Planned(BaseModel):
    """What the planner wrote on the pod, if it was fresh."""

    node: str
    until: datetime
    strict: bool = Field(description="no other node will do before then")
    preferred: bool = Field(description="whether the planned node was preferred over the scores")


class Explanation(BaseModel):
    pod: str
    uid: str
    origin: Basis
    sentences: list[str]
    placed_on: str | None = Field(description="as the cluster state knows it by now")
    best: str | None = Field(description="by the scores; a planned node may have gone before it")
    planned: Planned | None
    decided_at: datetime
    attempts: int = Field(description="how often kube-scheduler asked")
    workload_class: str | None
    weights: dict[str, float]
    candidates: Candidates | None
    ranked_count: int
    ranked: list[Ranked] = Field(description="the best ten, and the one with the best price")
    decided: Decided | None


def explain(named: str, decision: Decision, pod: Pod | None, origin: Basis = "decision") -> Explanation:
    """`pod` is what the cluster state knows of it now."""
    ranking, policy = decision.ranking, decision.policy
    return Explanation(
        pod=named,
        uid=decision.uid,
        origin=origin,
        sentences=list(sentences(named, decision, pod, origin)),
        placed_on=(pod.node_name or None) if pod else None,
        best=ranking.names[0] if ranking else None,
        planned=_planned(decision.plan, ranking) if decision.plan else None,
        decided_at=datetime.fromtimestamp(decision.decided_at, UTC),
        attempts=decision.attempts,
        workload_class=policy.workload_class if policy else None,
        weights={rule.name: weight for rule, weight in policy.scorers} if policy else {},
        candidates=_candidates(decision.filtering) if decision.filtering else None,
        ranked_count=ranking.count if ranking else 0,
        ranked=[_ranked(ranking, row) for row in range(len(ranking.names))] if ranking else [],
        decided=_decided(ranking) if ranking else None,
    )


def _planned(plan: PlanAnnotation, ranking: Ranking | None) -> Planned:
    return Planned(
        node=plan.node,
        until=datetime.fromtimestamp(plan.until, UTC),
        strict=plan.strict,
        preferred=ranking is not None and ranking.planned is not None,
    )


def _candidates(filtering: Filtering) -> Candidates:
    return Candidates(
        cluster_nodes=filtering.cluster_nodes,
        count=filtering.candidates,
        names=list(filtering.names),
        passed=filtering.passed,
        rejected=[_rejected_by(each) for each in filtering.rejected],
    )


def _rejected_by(rejected: Rejected) -> RejectedBy:
    examples = [
        RejectedNode(node=name, dollars_an_hour=_known(cost))
        for name, cost in zip(rejected.names, rejected.costs.tolist(), strict=True)
    ]
    return RejectedBy(
        rule=rejected.rule,
        reason=rejected.reason,
        resolvable=rejected.resolvable,
        count=rejected.count,
        short_of=dict(rejected.short_of),
        detail=rejected.detail,
        examples=examples,
    )


def _ranked(ranking: Ranking, row: int) -> Ranked:
    terms = {
        scorer.name: Term(score=score, weighted=weight * score)
        for (scorer, weight), score in zip(ranking.scorers, ranking.scores[:, row].tolist(), strict=True)
    }
    return Ranked(
        node=ranking.names[row],
        rank=int(ranking.ranks[row]),
        level=int(ranking.levels[row]),
        total=float(ranking.totals[row]),
        terms=terms,
        dollars_an_hour=_known(float(ranking.costs[row])),
        node_dollars_an_hour=_known(float(ranking.prices[row])),
        interruption_rate=float(ranking.interruption_rates[row]),
        durable=bool(ranking.durable[row]),
    )


def _known(amount: float) -> float | None:
    return None if math.isnan(amount) else amount


def _decided(ranking: Ranking) -> Decided | None:
    second = ranking.runner_up
    if second is None:
        return None
    found = advantages(ranking, 0, second)
    return Decided(
        runner_up=ranking.names[second],
        by=found[0].scorer,  # a larger total has at least one larger term
        difference=found[0].difference,
        winner_offers=[each.words for each in found],
        runner_up_offers=[each.words for each in advantages(ranking, second, 0)],
    )
