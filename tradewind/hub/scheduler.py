"""The loop of the fleet's scheduler: what changed, whose turn it is, what is decided, what is written."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus

from tradewind.errors import ApiError, ConflictError, NotFoundError, TradewindError
from tradewind.fleet.decision import Decision
from tradewind.fleet.forwarding import AtHome, Route
from tradewind.fleet.policy import site_policies
from tradewind.fleet.queue import FairQueue, Waiting
from tradewind.fleet.request import Request
from tradewind.fleet.settings import FleetSettings
from tradewind.hub.binding_writer import BindingWriter
from tradewind.hub.claims import Claims
from tradewind.hub.following import Following
from tradewind.hub.homes import HomeView
from tradewind.hub.ledger_store import LedgerStore
from tradewind.hub.metrics import FleetMetrics
from tradewind.hub.records import SCHEDULED, Binding
from tradewind.hub.state import FleetState
from tradewind.hub.troubles import Troubles

DEFAULT_NAME = "tradewind"
_CONCURRENCY = 16
_TICK_SECONDS = 0.5
_LOOK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class FleetScheduler:
    """All in one event loop; `wake` may be called from any thread."""

    def __init__(
        self,
        state: FleetState,
        ledgers: LedgerStore,
        writer: BindingWriter,
        metrics: FleetMetrics,
        *,
        settings: FleetSettings,
        name: str = DEFAULT_NAME,
        homes: HomeView | None = None,
    ) -> None:
        self._state = state
        self._claims = Claims(state, ledgers, metrics)
        self._writer = writer
        self._metrics = metrics
        self._settings = settings
        self._policies = site_policies(settings)
        self._name = name
        self._homes = homes or HomeView("", lambda: frozenset({""}))
        self._queue = FairQueue(settings.tenant_in_flight, self._is_alone)
        self._troubles = Troubles()
        self._following = Following(self._request, self._homes.at_home)
        self._moving: set[str] = set()  # to be decided anew, because another place is better
        self._attempted: dict[str, int] = {}  # the generation that was looked at last
        self._forced: set[str] = set()  # to be looked at whatever their generation says
        self._known: dict[str, Binding] = {}  # ours, as they were last seen
        self._tasks: set[asyncio.Task[None]] = set()
        self._looked = 0.0
        self._usable = 0

    def configure(self, settings: FleetSettings) -> None:
        if settings != self._settings:
            self._settings, self._policies = settings, site_policies(settings)
            self._state.promise_seconds = settings.promise_seconds
            self._queue.wake_all()

    async def run(
        self, changed: asyncio.Event, synced: Callable[[], bool], beat: Callable[[], None] = lambda: None
    ) -> None:
        """`beat` is called after each round that did not fail."""
        beat()
        while True:
            changed.clear()
            try:
                if synced():
                    self._take_news()
                    self._start_turns()
                beat()
            except Exception:  # noqa: BLE001  any defect at all: the next round may do better
                _log.exception("a round of the fleet's scheduler failed; retrying")
            try:
                async with asyncio.timeout(_TICK_SECONDS):
                    await changed.wait()
            except TimeoutError:
                pass

    def reconsider(self) -> None:
        """Homes have moved: whatever a scheduler that is gone has left undone is somebody's now."""
        now = time.time()
        for binding in self._state.bindings.all():
            self._consider(binding.key, now)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take_news(self) -> None:
        now = time.time()
        self._state.refresh(now)
        for key in self._state.bindings.take_changed():
            self._consider(key, now)
        if now - self._looked >= _LOOK_SECONDS:
            self._look_around(now)
        self._metrics.waiting.set(len(self._queue))

    def _look_around(self, now: float) -> None:
        """Once in a while: who has to go elsewhere, and who may have a place now."""
        self._looked = now
        bindings = [each for each in self._state.bindings.all() if each.ours(self._name)]
        for key in self._troubles.look(bindings, self._state.sites, self._settings, now):
            self._forced.add(key)
            self._consider(key, now, at_head=True)
        sites = self._state.sites
        for key in self._following.look(bindings, sites, self._policies, self._settings, now):
            binding = self._state.bindings.get(key)
            (self._forced if binding and binding.everywhere else self._moving).add(key)
            self._consider(key, now)
        ready, usable = sites.ready[sites.rows], sites.usable[sites.rows]
        count = int((ready & usable).sum())
        if count > self._usable:
            self._queue.wake_all()
        self._usable = count
        self._metrics.schedulers.set(len(self._homes.homes.alive))
        self._metrics.moved_partitions.set(len(self._homes.homes.moved))
        self._metrics.sites.labels("usable").set(count)
        self._metrics.sites.labels("not ready").set(int((~ready).sum()))
        self._metrics.sites.labels("no summary").set(int((ready & ~usable).sum()))

    def _consider(self, key: str, now: float, *, at_head: bool = False) -> None:
        binding = self._state.bindings.get(key)
        if binding is None or not binding.ours(self._name):
            self._queue.forget(key)
            self._attempted.pop(key, None)
            self._forced.discard(key)
            self._moving.discard(key)
            self._homes.forget(key)
            self._release(key)
            return
        self._known[key] = binding
        self._state.note_ready(binding, now)
        self._homes.count(binding, now)
        new = self._attempted.get(key) != binding.generation
        observed = binding.object.status.scheduler_observed_generation == binding.generation
        if not self._homes.at_home(binding):
            self._queue.forget(key)
        elif key in self._forced | self._moving or (new and (binding.unsettled or not observed)):
            at_head = at_head or self._homes.forwarded(binding)
            self._queue.add(Waiting(key, binding.namespace, binding.priority), at_head=at_head)

    def _release(self, key: str) -> None:
        """The binding is gone, or no longer ours: what was promised to it is given back."""
        gone = self._known.pop(key, None)
        if gone is not None:
            self._state.forget(gone)
            self._start(self._claims.release(gone))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _start_turns(self) -> None:
        while self._queue.in_flight < _CONCURRENCY:
            waiting = self._queue.take(time.time())
            if waiting is None:
                return
            self._start(self._turn(waiting))

    async def _turn(self, waiting: Waiting) -> None:
        started = time.monotonic()
        outcome = "failed"
        try:
            outcome = await self._schedule(waiting.key)
        except ConflictError:
            outcome = "conflict"
            await self._reread(waiting.key)
        except ApiError as error:
            _log.warning("%s could not be scheduled: %s", waiting.key, error)
        except TradewindError as error:
            _log.warning("%s cannot be scheduled: %s", waiting.key, error)
        except Exception:  # noqa: BLE001  any defect at all: the other bindings go on
            _log.exception("%s could not be scheduled", waiting.key)
        finally:
            self._queue.done(waiting.key, succeeded=outcome in {"placed", "forwarded", "refused"})
        self._metrics.decisions.labels(outcome).inc()
        if outcome == "placed":
            self._metrics.schedule_seconds.observe(time.monotonic() - started)
        elif outcome == "conflict":
            self._queue.add(waiting, at_head=True)
        elif outcome not in {"forwarded", "refused"} and self._state.bindings.get(waiting.key) is not None:
            self._queue.add_later(waiting, time.time())
        self._start_turns()

    def _is_alone(self, key: str) -> bool:
        """Whether others of its namespace count for it, so that it is decided when they are not."""
        binding = self._state.bindings.get(key)
        return binding is not None and self._state.one_at_a_time(binding)

    async def _reread(self, key: str) -> None:
        """What the watch has not brought yet."""
        binding = self._state.bindings.get(key)
        try:
            if binding is not None:
                self._state.bindings.apply(await self._writer.read(binding))
        except NotFoundError:
            self._state.bindings.remove(key)
        except (ApiError, ValueError) as error:
            _log.warning("%s could not be read: %s", key, error)

    async def _schedule(self, key: str) -> str:
        binding = self._state.bindings.get(key)
        if binding is None or not binding.ours(self._name) or not self._homes.at_home(binding):
            return "placed"
        self._attempted[key] = binding.generation
        if binding.refusal:
            await self._report(binding, Decision(reason=binding.refusal, outcome="Unsupported"))
            return "refused"
        if not (key in self._forced | self._moving or binding.unsettled):
            await self._confirm(binding)
            return "placed"
        now = time.time()
        request = self._request(binding)
        route = self._route(binding, request, now)
        if route.to:
            del self._attempted[key]  # should that one die, it is ours again
            await self._writer.forward(binding, route.to)
            return "forwarded"
        decision = await self._claims.claim(request, route, now)
        if not decision.placed and not (decision.cleared and binding.current):
            self._moving.discard(key)
            if request.everywhere:
                self._forced.discard(key)  # it is looked at again in turn
            await self._report(binding, decision)
            return "unplaced"
        try:
            written = await self._writer.place(binding, decision, _moved(request, decision))
        except ApiError as error:
            await self._claims.give_back(request, decision, now)
            if error.status == HTTPStatus.FORBIDDEN:  # Karmada's webhook, for a quota
                await self._report(binding, Decision(reason=str(error), outcome="QuotaExceeded"))
            raise
        self._note_moved(binding, request, decision)
        self._attempted[key] = written.generation
        self._state.bindings.apply(written)
        if not await self._writer.report(written, decision):
            del self._attempted[key]  # the next change of the binding brings it up again
        await self._claims.leave(binding, decision)
        return "placed" if decision.placed else "unplaced"

    async def _report(self, binding: Binding, decision: Decision) -> None:
        """Why nothing is written, unless the binding says so already."""
        if _said(binding) != decision.reason:
            await self._writer.report(binding, decision)

    def _route(self, binding: Binding, request: Request, now: float) -> Route:
        """What was forwarded is placed here, wherever it goes; alone there is nobody to forward to."""
        gap, homes = self._settings.forward_gap, self._homes
        at_home = None
        forwards = not (homes.alone or homes.forwarded(binding) or self._is_alone(binding.key))
        if gap is not None and forwards:
            at_home = AtHome(homes.home, homes.identity)
        return self._claims.route(request, self._policies.of(request), now, at_home, gap or 0.0)

    def _note_moved(self, binding: Binding, request: Request, decision: Decision) -> None:
        self._forced.discard(binding.key)
        self._moving.discard(binding.key)
        leaving = _moved(request, decision)
        if leaving:
            self._metrics.moves.inc(sum(leaving.values()))
            _log.info("%s moves from %s to %s", binding.key, dict(leaving), dict(decision.division))

    def _request(self, binding: Binding) -> Request:
        return binding.request(
            current=self._troubles.stays(binding, self._state.sites),
            fresh=binding.rescheduled or binding.key in self._moving,
            excluded=self._troubles.excluded(binding.key),
            quota=self._state.quota(binding),
            policy=self._state.policy(binding),
            others=self._state.others(binding),
        )

    async def _confirm(self, binding: Binding) -> None:
        """Nothing to decide, but the generation has moved on: graceful eviction waits for our word."""
        affinity_name = binding.object.status.scheduler_observed_affinity_name
        here = Decision(dict(binding.current), affinity_name, note=_said(binding, "True"))
        await self._writer.report(binding, here)


def _moved(request: Request, decision: Decision) -> Mapping[str, int]:
    """Replicas that leave a site by choice: it is there, and another is better."""
    if not request.fresh or request.everywhere:
        return {}
    return {site: count for site, count in request.current.items() if count and site not in decision.division}


def _said(binding: Binding, status: str = "False") -> str:
    conditions = binding.object.status.conditions or ()
    return next((each.message for each in conditions if (each.type, each.status) == (SCHEDULED, status)), "")
