"""The standing plan of a live cluster: solved again and again, and published as a guide."""

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Supply
from tradewind.config.settings import Settings
from tradewind.controller.guide_publisher import GuidePublisher
from tradewind.controller.metrics import StandingMetrics
from tradewind.planner.settings import PoolTemplate, StandingSettings
from tradewind.planner.solver_process import SolverLostError
from tradewind.planner.standing.standing import Solved
from tradewind.planner.standing.worker import StandingWorker

# Of the pods: so many that came or went are worth a solve before its time.
_MANY = 0.1
# Between two solves, however much changes: of the seconds of the settings, and of what a solve takes.
_LEAST_SHARE = 0.2
_REST_FACTOR = 4.0
# Of the pods: so many that come or are placed in a second are a burst, and so many that wait if they will be
# placed before the next solve, until few are left. Its end is waited for, as a plan made meanwhile has no use
# for the nodes that the rest will need, and takes the processor from who places it; for so many times the
# seconds at most.
_BURST, _REST_OF_BACKLOG = 0.1, 0.01
_BURST_SHARE = 2.0

_log = logging.getLogger(__name__)


class _Seen(NamedTuple):
    """What a solve was made of, as far as another is due when it changes."""

    supply: Supply  # nodes and prices
    settings: int  # their version
    work: int  # pods that came or went


class _Look(NamedTuple):
    at: float  # of time.monotonic
    arrivals: int  # of pods, by then
    waiting: int  # pods
    backlog: bool = False  # of pods that will soon be placed


class Standing:
    """For one thread. While others lead, `rest`."""

    def __init__(
        self,
        cache: Cache,
        settings: Settings,
        worker: StandingWorker,
        publisher: GuidePublisher,
        metrics: StandingMetrics,
        *,
        pools: Callable[[], Sequence[PoolTemplate]] = tuple,
        wanted: Callable[[Sequence[Pod]], Mapping[str, int]] = lambda _: {},
    ) -> None:
        """`pools` are nodes that could be added; `wanted` are pods, by `Pod.controller`."""
        self._cache = cache
        self._settings = settings
        self._publisher = publisher
        self._metrics = metrics
        self._worker = worker
        self._pools = pools
        self._wanted = wanted
        self._seen: _Seen | None = None
        self._started = -math.inf  # the newest solve, of time.monotonic
        self._took = 0.0
        self._looked: _Look | None = None  # the last time
        self._needed: frozenset[str] | None = None  # by the guide of the leader before; None: not read yet
        self._trouble = ""

    def rest(self) -> None:
        """Forget all that only a leader has a use for."""
        self._worker.close()
        self._seen = self._needed = self._looked = None
        self._started = -math.inf

    def run(self) -> None:
        """Solve and publish, if it is time to."""
        settings = self._settings.planner.standing
        if not (settings.enabled and self._settings.planner.enabled):
            self.rest()
            return
        seen = self._look()
        if not self._due(settings, seen):
            return
        if self._needed is None:
            self._needed = self._publisher.needed()
        self._seen, self._started = seen, time.monotonic()
        solved = self._solve(settings.seconds)
        self._took = time.monotonic() - self._started
        if solved is not None:
            self._metrics.solved(solved, self._took)
            self._publisher.publish(solved.guide)

    def _look(self) -> _Seen:
        supply = self._cache.snapshot().nodes.columns.supply
        return _Seen(supply, self._settings.version, sum(self._cache.work()))

    def _due(self, settings: StandingSettings, seen: _Seen) -> bool:
        passed, burst = time.monotonic() - self._started, self._in_burst(settings.seconds)
        if self._seen is None or (passed >= settings.seconds and not burst):
            return True
        if burst:
            return passed >= _BURST_SHARE * settings.seconds
        if passed < max(_LEAST_SHARE * settings.seconds, _REST_FACTOR * self._took):
            return False
        changed = seen.supply is not self._seen.supply or seen.settings != self._seen.settings
        return changed or seen.work - self._seen.work >= max(_MANY * self._cache.counts()["pods"], 1)

    def _in_burst(self, seconds: float) -> bool:
        """Whether many came since the last look, or were placed, or wait to be within these seconds."""
        before = self._looked
        now = _Look(time.monotonic(), self._cache.work().arrivals, self._cache.waiting_count())
        if before is None:
            self._looked = now
            return False
        came, passed = now.arrivals - before.arrivals, now.at - before.at
        placed = before.waiting + came - now.waiting
        pods = self._cache.counts()["pods"]
        few = (_REST_OF_BACKLOG if before.backlog else _BURST) * pods
        backlog = now.waiting > few and placed * seconds > now.waiting * passed
        self._looked = now._replace(backlog=backlog)
        return backlog or max(came, placed) > _BURST * pods * passed

    def _solve(self, seconds: float) -> Solved | None:
        snapshot, pods = self._cache.state()
        try:
            solved = self._worker.solve(
                snapshot,
                pods,
                self._settings.policies.of,
                seconds,
                self._needed or (),
                templates=self._pools(),
                wanted=self._wanted(pods),
            )
        except SolverLostError as error:
            self._failed(str(error))
            return None
        if solved is None:
            self._failed("no solution in time" if len(snapshot.nodes) else "")
        else:
            self._failed("")
        return solved

    def _failed(self, trouble: str) -> None:
        if trouble:
            self._metrics.failures.inc()
        if trouble and trouble != self._trouble:
            _log.warning("no standing plan, the guide of before stays until it is old: %s", trouble)
        elif self._trouble and not trouble:
            _log.info("there is a standing plan again")
        self._trouble = trouble
