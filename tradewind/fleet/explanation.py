"""Why a request goes where it goes: who was ruled out, and what the others scored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.filters.affinity import Affinity
from tradewind.fleet.filters.health import Summarised
from tradewind.fleet.policy import Rejection, SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites

_EXAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class RejectedSites:
    rule: str
    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RankedSite:
    name: str
    total: float
    terms: Mapping[str, float]  # weighted, by scorer
    room: int  # replicas, beside those that are there
    dollars: float  # an hour for the next replica; NaN where the price is not known


@dataclass(frozen=True, kw_only=True)
class SiteExplanation:
    request: Request
    decision: Decision  # as it would be made anew
    sites: int
    rejected: tuple[RejectedSites, ...]
    ranked: tuple[RankedSite, ...]  # the best, and those that have replicas
    passed: int
    weights: Mapping[str, float]
    workload_class: str  # whose weights these are; "" for the fleet's


def explain(
    request: Request, sites: Sites, policy: SitePolicy, now: float, most: int = 10
) -> SiteExplanation:
    """With several affinities, that of the decision; else the last, whose reason is told."""
    fresh = replace(request, fresh=True)
    decision = decide(fresh, sites, policy, now)
    affinities = request.placement.affinities
    chosen = [each for each in affinities if decision.placed and each.affinity_name == decision.affinity_name]
    everywhere = Candidates.all_of(fresh, sites, now)
    candidates, rejections, _ = policy.filter(everywhere, Affinity([*affinities, *chosen][-1]))
    return SiteExplanation(
        request=request,
        decision=decision,
        sites=len(everywhere),
        rejected=tuple(
            RejectedSites(
                rule=each.rule.name,
                reason=each.rule.reason,
                count=len(each.sites),
                examples=tuple(_named(each, i) for i in range(min(_EXAMPLES, len(each.sites)))),
            )
            for each in rejections
        ),
        ranked=_ranked(candidates, decision, policy, most),
        passed=len(candidates),
        weights={scorer: weight for scorer, weight in policy.weights.items() if weight},
        workload_class=policy.workload_class,
    )


def _named(rejection: Rejection, index: int) -> str:
    """With what is wrong with its summary, where that is why."""
    site = rejection.sites.record(index)
    told = isinstance(rejection.rule, Summarised) and site.summary is None and site.trouble
    return f"{site.name} ({site.trouble})" if told else site.name


def _ranked(
    candidates: Candidates, decision: Decision, policy: SitePolicy, most: int
) -> tuple[RankedSite, ...]:
    if not len(candidates):
        return ()
    terms = {scorer.name: weight * scores for scorer, weight, scores in policy.terms(candidates)}
    totals = policy.total(candidates)
    order = np.argsort(-totals, kind="stable").tolist()
    involved = decision.division.keys() | candidates.request.current.keys()
    shown = [i for rank, i in enumerate(order) if rank < most or candidates.record(i).name in involved]
    return tuple(
        RankedSite(
            name=candidates.record(index).name,
            total=float(totals[index]),
            terms={name: float(values[index]) for name, values in terms.items()},
            room=int(candidates.room[index]),
            dollars=float(candidates.cost[index]),
        )
        for index in shown
    )
