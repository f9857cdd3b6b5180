"""Which settled bindings a new decision would change: some are looked at each time, all in turn.

Duplicated workloads and objects without replicas go to each site that matches, also to one that joins or has
room later. Divided workloads stay, unless another place is better by `moveGain`.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator

from tradewind.errors import TradewindError
from tradewind.fleet.decision import decide
from tradewind.fleet.moves import Moves, gain
from tradewind.fleet.policy import SitePolicies
from tradewind.fleet.request import Request
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.hub.records import Binding

_BUDGET_SECONDS = 0.05  # each look costs a decision: a twentieth of the time, at most, goes there


class Following:
    def __init__(self, request_of: Callable[[Binding], Request], at_home: Callable[[Binding], bool]) -> None:
        self._request_of = request_of
        self._at_home = at_home
        self._moves = Moves()
        self._rota: deque[str] = deque()

    def look(
        self,
        bindings: Collection[Binding],
        sites: Sites,
        policies: SitePolicies,
        settings: FleetSettings,
        now: float,
    ) -> Iterator[str]:
        """Keys of those that are to be decided anew."""
        moving = settings.move_gain is not None
        followed = (each for each in bindings if not each.refusal)
        by_key = {each.key: each for each in followed if each.everywhere or (moving and _settled(each))}
        if not self._rota:
            self._rota.extend(by_key)
        until = time.perf_counter() + _BUDGET_SECONDS
        while self._rota and time.perf_counter() < until:
            key = self._rota.popleft()
            if key not in by_key or not self._at_home(by_key[key]):
                self._moves.forget(key)
                continue
            try:
                request = self._request_of(by_key[key])
                if self._due(request, sites, policies, settings, now):
                    yield key
            except TradewindError:
                continue  # a request that cannot be read; its turn has said so

    def _due(
        self, request: Request, sites: Sites, policies: SitePolicies, settings: FleetSettings, now: float
    ) -> bool:
        policy = policies.of(request)
        if request.everywhere:
            decision = decide(request, sites, policy, now)
            return (decision.placed or decision.cleared) and decision.division != request.current
        least, seconds = settings.move_gain, settings.move_seconds
        gained = gain(request, sites, policy, now)
        return least is not None and self._moves.due(
            request.key, gained, least=least, seconds=seconds, now=now
        )


def _settled(binding: Binding) -> bool:
    """All replicas are ready where they were sent, and none is on the way from elsewhere."""
    if binding.unsettled or binding.object.spec.graceful_eviction_tasks:
        return False
    return all(binding.ready.get(site, 0) >= replicas for site, replicas in binding.current.items())
