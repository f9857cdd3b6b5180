"""Which settled bindings would be better off elsewhere now: some are looked at each time, all in turn."""

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator

from tradewind.errors import TradewindError
from tradewind.fleet.moves import Moves, gain
from tradewind.fleet.policy import SitePolicies
from tradewind.fleet.request import Request
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.hub.records import Binding

_BUDGET_SECONDS = 0.05  # each look costs a decision: a twentieth of the time, at most, goes there


class Following:
    def __init__(self, request_of: Callable[[Binding], Request]) -> None:
        self._request_of = request_of
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
        if settings.move_gain is None:
            return
        by_key = {binding.key: binding for binding in bindings if _settled(binding)}
        if not self._rota:
            self._rota.extend(by_key)
        until = time.perf_counter() + _BUDGET_SECONDS
        while self._rota and time.perf_counter() < until:
            key = self._rota.popleft()
            if key not in by_key:
                self._moves.forget(key)
                continue
            try:
                request = self._request_of(by_key[key])
                gained = gain(request, sites, policies.of(request), now)
            except TradewindError:
                continue  # a request that cannot be read; its turn has said so
            least, seconds = settings.move_gain, settings.move_seconds
            if self._moves.due(key, gained, least=least, seconds=seconds, now=now):
                yield key


def _settled(binding: Binding) -> bool:
    """All replicas are ready where they were sent, and none is on the way from elsewhere."""
    if binding.unsettled or binding.object.spec.graceful_eviction_tasks:
        return False
    return all(binding.ready.get(site, 0) >= replicas for site, replicas in binding.current.items())
