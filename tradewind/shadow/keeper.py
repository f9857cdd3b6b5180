"""The leader keeps the shadow cluster and its account; any other replica reads what the leader wrote."""

import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from tradewind.cluster.cache import Cache
from tradewind.errors import ApiError
from tradewind.kube.memory import WriteOutcome
from tradewind.shadow.account import ShadowAccount
from tradewind.shadow.cluster import Compared, ShadowCluster, ShadowPolicies, Side, real_side
from tradewind.shadow.memory import ShadowMemory
from tradewind.shadow.metrics import ShadowMetrics

LEASE = "tradewind-shadow"

_READ_SECONDS = 30.0
_FIRST_WRITE_SECONDS = 10.0
# A restart loses no more than this; the sums go on from the last write.
_WRITE_SECONDS = 300.0

_log = logging.getLogger(__name__)


class ShadowKeeper:
    def __init__(
        self,
        cache: Cache,
        policies: ShadowPolicies,
        memory: ShadowMemory | None,
        metrics: ShadowMetrics,
        *,
        shadowing: Callable[[], bool],
        leading: Callable[[], bool],
        coverage: Callable[[], str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Without `memory` the account ends with the process. `coverage` says which nodes have a price."""
        self._cache = cache
        self._policies = policies
        self._memory = memory
        self._metrics = metrics
        self._shadowing = shadowing
        self._leading = leading
        self._coverage = coverage
        self._clock = clock
        self._account: ShadowAccount | None = None  # None: there was never a shadow here
        self._asked = False  # whether there was one
        self._led = False  # in the last round
        self._cluster: ShadowCluster | None = None
        self._sides = Side(), Side()
        self._next_read = self._next_write = 0.0

    @property
    def account(self) -> ShadowAccount | None:
        return self._account

    @property
    def shadowing(self) -> bool:
        return self._shadowing()

    def run(self) -> None:
        """One round. Live, only what there is costs is recorded, and that only after a time in the shadow."""
        shadowing = self._shadowing()
        self._metrics.on.set(shadowing)
        if not (shadowing or self._began()):
            return
        leading = self._leading()
        self._metrics.leading.set(leading)
        if not leading:
            self._led, self._cluster = False, None
            self._recall()
            return
        if self._led or self._take_over():
            self._led = True
            self._step(shadowing=shadowing)

    def save(self) -> None:
        """Write once more before exiting, so that the next leader resumes from here."""
        if self._led and self._leading():
            self._keep()

    def _began(self) -> bool:
        if self._account is None and not self._asked:
            self._asked = True
            try:
                self._account = self._memory.read() if self._memory else None
            except ApiError as error:
                _log.debug("whether there was a shadow cannot be read: %s", error)
        return self._account is not None

    def _recall(self) -> None:
        if self._memory is None or self._clock() < self._next_read:
            return
        self._next_read = self._clock() + _READ_SECONDS
        try:
            self._account = self._memory.read() or self._account
        except ApiError as error:
            _log.warning("the shadow's account cannot be read: %s", error)

    def _take_over(self) -> bool:
        """Whether what was kept is known: what cannot be read for now must not be overwritten."""
        try:
            self._account = (self._memory.read() if self._memory else self._account) or ShadowAccount()
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                if self._clock() >= self._next_read:
                    self._next_read = self._clock() + _READ_SECONDS
                    _log.warning("no shadow until its account can be read: %s", error)
                return False
            _log.warning("the shadow's account ends with this process: %s", error)
            self._memory, self._account = None, ShadowAccount()
        self._account.at = 0.0  # of the time since then nothing is known
        self._sides = Side(), Side()
        self._next_write = self._clock() + _FIRST_WRITE_SECONDS
        return True

    def _step(self, *, shadowing: bool) -> None:
        account, now = self._account, self._clock()
        if account is None:
            return
        snapshot, pods = self._cache.state()
        live = self._cluster is None
        account.pass_time(now, *self._sides, live=live)
        if shadowing:
            self._cluster = self._cluster or self._new_cluster(account)
            self._cluster.follow(snapshot, pods)
            self._sides = self._cluster.sides()
            account.count(self._cluster.compared)
            self._cluster.compared = Compared()
        else:
            self._cluster, self._sides = None, (real_side(snapshot, pods), Side())
        self._metrics.show(account, *self._sides)
        if now >= self._next_write:
            self._next_write = now + _WRITE_SECONDS
            self._keep()

    def _new_cluster(self, account: ShadowAccount) -> ShadowCluster:
        return ShadowCluster(self._policies, account.remembered())

    def _keep(self) -> None:
        if self._memory is None or self._account is None:
            return
        self._account.coverage = self._coverage()
        self._account.remember(self._cluster.placements() if self._cluster else {})
        outcome = self._memory.write(self._account)
        self._metrics.writes.labels(outcome).inc()
        if outcome is WriteOutcome.CONFLICT:
            self._led = False  # another has led since: go on from what it knows
