"""Several requests, one after the other, each with the room that those before it have left."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.ledger import promise_of
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites


@dataclass(frozen=True)
class Placed:
    request: Request
    decision: Decision
    dollars: float  # an hour, of all replicas; NaN where a price is not known


def plan(
    requests: Iterable[Request], sites: Sites, policy_of: Callable[[Request], SitePolicy], now: float
) -> Iterator[Placed]:
    """What a site is to get is promised in the ledger of its record in `sites`."""
    for request in requests:
        decision = decide(request, sites, policy_of(request), now)
        yield Placed(request, decision, dollars(request, sites, decision.division))
        promise(request, sites, decision.division, now)


def promise(request: Request, sites: Sites, division: Mapping[str, int], now: float) -> None:
    for name, replicas in division.items():
        site, more = sites.site(name), replicas - request.current.get(name, 0)
        if site is None or site.summary is None or more <= 0:
            continue
        found = promise_of(site.summary, site.ledger, request.pod, key=request.key, replicas=more, time=now)
        if found is None:
            raise AssertionError(f"{name} was given {more} replicas and has no room for them")
        sites.apply(replace(site, ledger=site.ledger.with_promise(found)))


def dollars(request: Request, sites: Sites, division: Mapping[str, int]) -> float:
    """An hour: each site gives the cheapest nodes that have room first. Replicas that run count there too."""
    total = 0.0
    for name, replicas in division.items():
        row = sites.row_of.get(name)
        if row is None:
            return math.nan
        candidates = Candidates(request, sites, 0.0, np.array([row], np.intp))
        left = replicas
        cost, room = candidates.steps([0])
        for each, count in zip(cost[0].tolist(), room[0].tolist(), strict=True):
            if count:
                total += each * min(left, count)
                left -= min(left, int(count))
        total += left * float(candidates.cost[0]) if left else 0.0
    return total
