"""Where a request goes: a pure function of the request, the matrix of sites, the rules and the time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.division import (
    Divide,
    Division,
    Option,
    aggregated,
    by_cost,
    shrunk,
    weighted,
)
from tradewind.fleet.filters.affinity import Affinity, matching
from tradewind.fleet.placement import ClusterAffinity
from tradewind.fleet.policy import Rejection, SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.scorers.median import against
from tradewind.fleet.scorers.price import Price
from tradewind.fleet.sites import Codes, Floats, Sites
from tradewind.fleet.spread import within

Outcome = Literal["Success", "NoClusterFit", "Unschedulable", "QuotaExceeded", "Unsupported"]

_MOST_OPTIONS = 64  # that a division looks at closely, unless they have too little room
_BEST_OF_GROUP = 8


@dataclass(frozen=True)
class Decision:
    division: Mapping[str, int] = field(default_factory=dict)
    affinity_name: str = ""
    value: float = 0.0  # the mean total score of the replicas
    values: Mapping[str, float] = field(default_factory=dict)  # of the best sites, for those who compare
    reason: str = ""  # why there is no division
    outcome: Outcome = "Success"
    cleared: bool = False  # the policy forbids all sites, also those that have replicas
    note: str = ""  # which sites are left out, where each that matches should get a copy

    @property
    def placed(self) -> bool:
        return not self.reason


def decide(request: Request, sites: Sites, policy: SitePolicy, now: float) -> Decision:
    """With several affinities the first, from the one used last on, that has a place for all replicas.

    Where none has, the reason is that of the first.
    """
    if request.workload and not request.replicas:
        return Decision(affinity_name=request.affinity_name)
    affinities = request.placement.affinities
    names = [each.affinity_name for each in affinities]
    start = names.index(request.affinity_name) if request.affinity_name in names else 0
    decisions = []
    for affinity in affinities[start:]:
        decision = _decide(request, sites, policy, now, affinity)
        if decision.placed:
            return decision
        decisions.append(decision)
    if all(each.cleared for each in decisions):
        return decisions[0]
    return next(each for each in decisions if not each.cleared)


def _decide(
    request: Request, sites: Sites, policy: SitePolicy, now: float, affinity: ClusterAffinity
) -> Decision:
    everywhere = Candidates.all_of(request, sites, now)
    candidates, rejections, kept = policy.filter(everywhere, Affinity(affinity))
    if not len(candidates):
        forbidden = bool(rejections) and not any(each.rule.keeps for each in rejections)
        reason = unplaced(len(everywhere), rejections)
        return Decision(reason=reason, outcome="NoClusterFit", cleared=forbidden)
    totals = policy.total(candidates)
    options = _options(candidates, totals, policy, kept)
    division = _divided(request, options)
    if division is not None and _exceeds_quota(request, division):
        return Decision(reason="would take the tenant over its quota", outcome="QuotaExceeded")
    if division is None:
        room = sum(option.room for option in options)
        fits = f"site(s) had room for {room} of {request.replicas} replica(s) within the placement"
        return Decision(
            reason=f"{unplaced(len(everywhere), rejections, len(candidates))}, {len(candidates)} {fits}",
            outcome="Unschedulable",
        )
    values = {option.name: option.value for option in options}
    waiting = [each for each in rejections if each.rule.keeps] if request.everywhere else []
    return Decision(
        division,
        affinity.affinity_name,
        _worth(options, division),
        values,
        note=unplaced(len(everywhere), waiting, len(candidates)) if waiting else "",
    )


def _exceeds_quota(request: Request, division: Mapping[str, int]) -> bool:
    """Only what adds replicas needs room in the quota."""
    count = sum(division.values())
    if request.quota is None or count <= request.held:
        return False
    return any(count * request.requests.get(name, 0) > left for name, left in request.quota.items())


def _worth(options: Sequence[Option], division: Mapping[str, int]) -> float:
    """The mean over the replicas."""
    count = sum(division.values())
    whole = sum(option.worth(division[option.name]) for option in options if option.name in division)
    return whole / count if count else 0.0


def unplaced(count: int, rejections: Sequence[Rejection], left: int = 0) -> str:
    """As kube-scheduler words it, with sites for nodes."""
    parts = [f"{len(each.sites)} site(s) {each.rule.reason}" for each in rejections]
    return f"{left}/{count} sites are available: " + ", ".join(parts or ["there are none"] * (not count))


def _options(
    candidates: Candidates, totals: Floats, policy: SitePolicy, kept: frozenset[str]
) -> list[Option]:
    """The best first, and of equals the one with the lower name, so that a decision can be repeated."""
    request = candidates.request
    placement, current = request.placement, request.current
    weights = _static_weights(candidates)
    fields = _spread_fields(candidates)
    chosen = _shortlist(candidates, totals, fields)
    curves = _curves(candidates, chosen, totals, policy.weights.get(Price.name, 0.0))
    options = []
    for index, curve in zip(chosen, curves, strict=True):
        record = candidates.record(index)
        name = record.name
        here = bool(candidates.having[index]) and (request.everywhere or not request.fresh)
        room = current.get(name, 0) + (0 if name in kept else int(candidates.room[index]))
        room = max(1, request.replicas) if request.everywhere else room
        groups = {by: record.groups(by) for by in fields}
        weight = room if placement.division == "Dynamic" else int(weights[index])
        options.append(Option(name, room, float(totals[index]), curve, weight, groups, here))
    return sorted(options, key=lambda option: (-option.value, option.name))


def _spread_fields(candidates: Candidates) -> list[str]:
    return [each.spread_by_field for each in candidates.request.placement.spread_constraints or ()]


def _shortlist(candidates: Candidates, totals: Floats, fields: Sequence[str]) -> list[int]:
    """The best, more where they have too little room, and the sites that have replicas already.

    With constraints also the best of each group, so that a minimum of regions is not lost in a crowd.
    """
    request = candidates.request
    everywhere = request.everywhere or request.placement.division == "Static"
    if everywhere or len(candidates) <= _MOST_OPTIONS:
        return list(map(int, best(totals, len(candidates))))
    grouped = set(fields) - {"cluster"}
    order = best(totals, len(candidates) if grouped else _MOST_OPTIONS)
    if candidates.room[order].sum() < 2 * request.replicas:
        order = best(totals, len(candidates))
    needed = int(np.searchsorted(np.cumsum(candidates.room[order]), 2 * request.replicas)) + 1
    kept = np.flatnonzero(candidates.having).tolist()
    chosen = dict.fromkeys([*order[: max(_MOST_OPTIONS, needed)].tolist(), *kept])
    seen: Counter[tuple[str, str]] = Counter()
    for index in order.tolist() if grouped else ():
        groups = [(by, group) for by in fields for group in candidates.record(index).groups(by)]
        if any(seen[group] < _BEST_OF_GROUP for group in groups):
            chosen[index] = None
            seen.update(groups)
    return list(chosen)


def best(totals: Floats, count: int) -> Codes:
    """So many, the best first, and of equals those that come first; all need not be put in order for that."""
    if count >= totals.size:
        return np.argsort(-totals, kind="stable")
    least = np.partition(totals, totals.size - count)[totals.size - count]
    rows = np.flatnonzero(totals >= least)
    return rows[np.argsort(-totals[rows], kind="stable")][:count]


def _static_weights(candidates: Candidates) -> Floats:
    """(S,) as Karmada: the largest weight of the rules that match a site; 1 for all where none does."""
    scheduling = candidates.request.placement.replica_scheduling
    preference = scheduling.weight_preference if scheduling else None
    weights: Floats = np.zeros(len(candidates))
    for rule in (preference.static_weight_list if preference else None) or ():
        np.maximum(weights, rule.weight * matching(rule.target_cluster, candidates), out=weights)
    return weights if weights.any() else np.ones(len(candidates))


def _curves(
    candidates: Candidates, chosen: Sequence[int], totals: Floats, weight: float
) -> list[tuple[tuple[float, int], ...]]:
    """The total score again, with the price of the replicas that come later.

    Where a request is decided anew, the first replicas of a site are those that it has.
    """
    if not weight or candidates.request.everywhere:
        return [()] * len(chosen)
    cost, room = candidates.steps(chosen)
    median = candidates.median_cost
    without = totals[chosen] - weight * against(median, candidates.cost[chosen])
    scores = without[:, np.newaxis] + weight * against(median, cost)
    curves = [
        tuple((score, int(count)) for score, count in zip(*both, strict=True) if count > 0)
        for both in zip(scores.tolist(), room.tolist(), strict=True)
    ]
    request = candidates.request
    if not (request.fresh and request.current):
        return curves
    have = [request.current.get(candidates.record(index).name, 0) for index in chosen]
    return [
        ((float(totals[index]), count), *curve)
        for index, count, curve in zip(chosen, have, curves, strict=True)
    ]


_DIVIDERS: Mapping[str, Divide] = {
    "Aggregated": aggregated,
    "Cost": by_cost,
    "Dynamic": weighted,
    "Static": weighted,
}


def _divided(request: Request, options: Sequence[Option]) -> Division | None:
    placement = request.placement
    # As Karmada: static weights go before spread constraints, and copies need no room to be spread.
    constraints = (placement.spread_constraints or ()) if placement.division != "Static" else ()
    allowed = within(options, constraints, 0 if request.everywhere else request.replicas)
    if allowed is None:
        return None
    if request.everywhere:
        return {option.name: request.replicas for option in allowed.options}
    weighed = allowed.options
    divide = _DIVIDERS[placement.division]
    names = {option.name for option in weighed}
    current = {name: count for name, count in request.current.items() if name in names and count > 0}
    if request.fresh or not current or placement.division == "Static":
        return divide(weighed, request.replicas, allowed.required)
    return _steady(request, weighed, current, divide, allowed.required)


def _steady(
    request: Request,
    options: Sequence[Option],
    current: Division,
    divide: Divide,
    required: Sequence[str],
) -> Division | None:
    """Replicas stay where they are; only what is missing is divided, only what is too much leaves."""
    missing = request.replicas - sum(current.values())
    if missing < 0:
        if request.placement.division == "Dynamic":
            shares = [
                replace(option, room=current[option.name], weight=current[option.name])
                for option in options
                if option.name in current
            ]
            return weighted(shares, request.replicas, [name for name in required if name in current])
        values = {option.name: option.value for option in options}
        return shrunk(current, values, request.replicas, required)
    left = [replace(option, room=option.room - current.get(option.name, 0)) for option in options]
    needed = [name for name in required if not current.get(name)]
    more = divide(left, missing, needed) if missing else {}
    if more is None:
        return None
    return {name: current.get(name, 0) + more.get(name, 0) for name in current | more}
