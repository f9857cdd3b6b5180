"""The fleet's rules in force: every filter, and the scorers with their weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.filters.apis import Apis
from tradewind.fleet.filters.feasible_nodes import FeasibleNodes, WholeCopy
from tradewind.fleet.filters.health import ErrorRate, Evicting, Excluded, Ready, Summarised
from tradewind.fleet.filters.tolerations import Tolerations
from tradewind.fleet.filters.workload_affinity import WorkloadAffinity
from tradewind.fleet.request import Near, Request
from tradewind.fleet.rules import SiteFilter, SiteScorer
from tradewind.fleet.scorers.centroid import Centroid
from tradewind.fleet.scorers.energy import Energy
from tradewind.fleet.scorers.equivalence import Equivalence
from tradewind.fleet.scorers.health import Health
from tradewind.fleet.scorers.locality import Locality
from tradewind.fleet.scorers.price import Price
from tradewind.fleet.scorers.spread import Spread
from tradewind.fleet.scorers.stability import Stability
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Floats
from tradewind.fleet.weights import DEFAULT_WEIGHTS, check_names

# The cheap ones first: each looks only at what the ones before it have left. Affinity comes before all of
# them, because a placement may have several, to be tried one after the other.
FILTERS: tuple[SiteFilter, ...] = (
    Evicting(),
    Ready(),
    Excluded(),
    Tolerations(),
    WorkloadAffinity(),
    Apis(),
    Summarised(),
    ErrorRate(),
    FeasibleNodes(),
    WholeCopy(),
)

SCORERS: tuple[SiteScorer, ...] = (
    Price(),
    Stability(),
    Health(),
    Locality(),
    Centroid(),
    Equivalence(),
    Energy(),
    Spread(),
)


class Rejection(NamedTuple):
    rule: SiteFilter
    sites: Candidates


class Verdict(NamedTuple):
    candidates: Candidates
    rejections: list[Rejection]
    kept: frozenset[str]  # candidates only for what they have


@dataclass(frozen=True)
class SitePolicy:
    filters: tuple[SiteFilter, ...] = FILTERS
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    scorers: tuple[SiteScorer, ...] = SCORERS
    workload_class: str = ""

    def __post_init__(self) -> None:
        check_names(self.weights)

    def filter(self, candidates: Candidates, first: SiteFilter) -> Verdict:
        """A site that has replicas keeps them where a rule lets it, but gets no more.

        A full reschedule may move replicas; where every site gets a copy, there is nothing to move.
        """
        request = candidates.request
        staying = request.everywhere or not request.fresh
        rejections, kept = [], set[str]()
        for rule in (first, *self.filters):
            if rule.of_pods and not request.workload:
                continue
            mask = rule.feasible(candidates)
            if not mask.all():
                stays = ~mask & candidates.having if rule.keeps and staying else np.zeros_like(mask)
                if stays.any():
                    kept.update(candidates.take(stays).names)
                out = candidates.take(~(mask | stays))
                if len(out):
                    rejections.append(Rejection(rule, out))
                candidates = candidates.take(mask | stays)
        return Verdict(candidates, rejections, frozenset(kept))

    def terms(self, candidates: Candidates) -> Iterator[tuple[SiteScorer, float, Floats]]:
        for scorer in self.scorers:
            weight = self.weights.get(scorer.name, 0.0)
            if weight:
                yield scorer, weight, scorer.score(candidates)

    def total(self, candidates: Candidates) -> Floats:
        """(S,) the inner product of weights and factors."""
        total = np.zeros(len(candidates))
        for _, weight, scores in self.terms(candidates):
            total += weight * scores
        return total


@dataclass(frozen=True)
class SitePolicies:
    """The policy of each class of requests, with the namespaces that it takes, in the order of trying."""

    default: SitePolicy = field(default_factory=SitePolicy)
    classes: tuple[tuple[frozenset[str], SitePolicy], ...] = ()

    def of(self, request: Request) -> SitePolicy:
        """The class that the request names, else the first that takes its namespace, else the default."""
        for _, policy in self.classes:
            if policy.workload_class == request.workload_class:
                return policy
        for namespaces, policy in self.classes:
            if request.tenant in namespaces:
                return policy
        return self.default


def site_policies(settings: FleetSettings) -> SitePolicies:
    default = SitePolicy(
        filters=tuple(_with_limits(rule, settings) for rule in FILTERS),
        weights=settings.weights_of(),
        scorers=_scorers(settings, None),
    )
    return SitePolicies(
        default,
        tuple(
            (
                each.namespaces,
                replace(
                    default,
                    weights=settings.weights_of(name),
                    scorers=_scorers(settings, each.near),
                    workload_class=name,
                ),
            )
            for name, each in settings.classes.items()
        ),
    )


def _scorers(settings: FleetSettings, near: Near | None) -> tuple[SiteScorer, ...]:
    configured: Mapping[str, SiteScorer] = {
        Locality.name: Locality(latencies=settings.latencies, near=near),
        Equivalence.name: Equivalence(resources=settings.equivalence_resources),
    }
    return tuple(configured.get(each.name, each) for each in SCORERS)


def _with_limits(rule: SiteFilter, settings: FleetSettings) -> SiteFilter:
    match rule:
        case Summarised():
            return Summarised(max_age_seconds=settings.summary_seconds)
        case ErrorRate():
            return ErrorRate(max_error_rate=settings.max_error_rate)
        case _:
            return rule
