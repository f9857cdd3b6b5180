"""When running replicas move: another place has become better, by much and for a while.

Prices go up and down, and a move costs what no score knows. So a gain must reach a threshold and stay above
it for a time; what then moves has to wait as long again. What a workload has where it is counts at its best,
so that it does not leave for a place that looks better only because the workload is not there yet.
"""

from collections.abc import Mapping
from dataclasses import replace

from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.fleet.sites import Sites

_CHOOSING = {"Cost", "Aggregated"}  # the divisions in which the better place wins


def gain(request: Request, sites: Sites, policy: SitePolicy, now: float) -> float:
    """How much better a new decision is than where the replicas are: 0..1, as a share of the best score."""
    if request.placement.division not in _CHOOSING or not sum(request.current.values()):
        return 0.0
    decision = decide(replace(request, fresh=True), sites, policy, now)
    whole = sum(policy.weights.values())
    if not decision.placed or not whole:
        return 0.0
    staying = _staying(request.current, decision)
    return 0.0 if staying is None else max(0.0, (decision.value - staying) / whole)


def _staying(current: Mapping[str, int], decision: Decision) -> float | None:
    """The mean score where they are; None where a site takes nobody now: then it is no matter of prices."""
    if not current.keys() <= decision.values.keys():
        return None
    return sum(decision.values[site] * count for site, count in current.items()) / sum(current.values())


class Moves:
    """Since when which request would be better off elsewhere. Time is given by the caller."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def due(self, key: str, gained: float, *, least: float, seconds: float, now: float) -> bool:
        if gained < least:
            self._since.pop(key, None)
            return False
        if now - self._since.setdefault(key, now) < seconds:
            return False
        del self._since[key]
        return True

    def forget(self, key: str) -> None:
        self._since.pop(key, None)
