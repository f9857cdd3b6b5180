"""A decision with the room taken: from the ledgers of all its sites, or from none."""

import asyncio
import logging
import time

from tradewind.errors import ApiError
from tradewind.fleet.decision import Decision, decide
from tradewind.fleet.forwarding import AtHome, Route, route
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.request import Request
from tradewind.hub.ledger_store import LedgerStore
from tradewind.hub.metrics import FleetMetrics
from tradewind.hub.records import Binding
from tradewind.hub.state import FleetState

_TRIES = 5  # of one request against ledgers that others change

_log = logging.getLogger(__name__)


class Claims:
    def __init__(self, state: FleetState, ledgers: LedgerStore, metrics: FleetMetrics) -> None:
        self._state = state
        self._ledgers = ledgers
        self._metrics = metrics

    def route(
        self,
        request: Request,
        policy: SitePolicy,
        now: float,
        at_home: AtHome | None = None,
        gap: float = 0.0,
    ) -> Route:
        """With what the watches have brought; nothing is taken. `at_home` is None where nobody else is."""
        self._state.refresh(now)
        started = time.perf_counter()
        if at_home is None:
            found = Route(decide(request, self._state.sites, policy, now), policy)
        else:
            found = route(request, self._state.sites, policy, now, at_home=at_home, gap=gap)
        self._metrics.decision_seconds.observe(time.perf_counter() - started)
        return found

    async def claim(self, request: Request, first: Route, now: float) -> Decision:
        """A site that no longer has the room shows that in the matrix of the next try."""
        decision = first.decision
        for _ in range(_TRIES):
            if not decision.placed or await self._take(request, decision, now):
                return decision
            await self.give_back(request, decision, now)
            decision = self.route(request, first.policy, now).decision
        return Decision(reason="other schedulers took the room first, several times in a row")

    async def _take(self, request: Request, decision: Decision, now: float) -> bool:
        async def take(site: str, more: int) -> bool:
            record = self._state.sites.site(site)
            if record is None or record.summary is None:
                return False
            return await self._ledgers.take(
                site, record.summary, request.pod, key=request.key, replicas=more, now=now
            )

        taken = await asyncio.gather(*(take(site, more) for site, more in _added(request, decision).items()))
        return all(taken)

    async def give_back(self, request: Request, decision: Decision, now: float) -> None:
        await asyncio.gather(
            *(self._ledgers.give_back(site, request.key, now) for site in _added(request, decision))
        )

    async def leave(self, binding: Binding, decision: Decision) -> None:
        """What was promised by sites that the binding had and has no more."""
        for site in binding.current.keys() - decision.division.keys():
            await self._ledgers.give_back(site, binding.promise_key)

    async def release(self, gone: Binding) -> None:
        """All that was promised to a binding that is gone."""
        try:
            await asyncio.gather(*(self._ledgers.give_back(site, gone.promise_key) for site in gone.current))
        except ApiError as error:
            _log.warning("the room promised to %s stays taken until it is old: %s", gone.key, error)


def _added(request: Request, decision: Decision) -> dict[str, int]:
    more = {site: count - request.current.get(site, 0) for site, count in decision.division.items()}
    return {site: count for site, count in more.items() if count > 0}
