"""Whether a request stays with the scheduler that is its home, or goes on to that of a better site.

Schedulers that place on the same sites run into each other at the ledgers. So a home prefers the sites of its
own regions while they are about as good, and hands the request to the home of the better site where they are
not; that one places it, wherever it goes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.partitions import region_partition
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Mask, Sites


@dataclass(frozen=True)
class AtHome:
    """The site is in a region of which this scheduler is the home."""

    name: ClassVar[str] = "at_home"
    reason: ClassVar[str] = "were another scheduler's"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = False

    home: Callable[[str], str]  # of a partition
    identity: str

    def feasible(self, candidates: Candidates) -> Mask:
        places = candidates.sites.places
        verdicts = [
            self.home(region_partition(next(iter(dict(place).get("region", ())), ""))) == self.identity
            for place in places.values
        ]
        return np.array(verdicts, np.bool_).take(places.codes.take(candidates.rows))


class Route(NamedTuple):
    decision: Decision
    policy: SitePolicy  # that made it
    to: str = ""  # the scheduler that is to decide instead


def route(
    request: Request, sites: Sites, policy: SitePolicy, now: float, *, at_home: AtHome, gap: float
) -> Route:
    """`gap` is a share of the best score, 0..1."""
    best = decide(request, sites, policy, now)
    homes = {name: _home(name, sites, at_home) for name in best.division}
    if not best.placed or set(homes.values()) <= {at_home.identity}:
        return Route(best, policy)
    own_policy = replace(policy, filters=(at_home, *policy.filters))
    own = decide(request, sites, own_policy, now)
    if own.placed and best.value - _value(own, best) <= gap * sum(policy.weights.values()):
        return Route(own, own_policy)
    most = max(best.division, key=lambda name: (best.division[name], name))
    return Route(best, policy, "" if homes[most] == at_home.identity else homes[most])


def _value(own: Decision, best: Decision) -> float:
    """Of our own sites beside all others: scores compare only within one set of candidates.

    A site that is not among the best of all is as bad as can be.
    """
    count = sum(own.division.values())
    return sum(best.values.get(name, -math.inf) * each for name, each in own.division.items()) / max(count, 1)


def _home(name: str, sites: Sites, at_home: AtHome) -> str:
    site = sites.site(name)
    return at_home.home(region_partition(site.region if site else ""))
