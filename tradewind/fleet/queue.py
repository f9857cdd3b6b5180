"""Which request is next: priority first, then the tenants in turn, and every tenth turn by age.

The oldest request is taken then, so that a low priority waits longer and not for ever: as the planner does.

No lock: one thread, or one event loop, uses it. Time is given by the caller.
"""

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

_BY_AGE = 10  # every so many turns
_FIRST_DELAY_SECONDS = 1.0
_MAX_DELAY_SECONDS = 60.0


@dataclass(frozen=True)
class Waiting:
    key: str
    tenant: str
    priority: int = 0


@dataclass
class _Level:
    """The requests of one priority: a line for each tenant, and the tenants in turn."""

    tenants: OrderedDict[str, deque[str]] = field(default_factory=OrderedDict)


class FairQueue:
    """A request is in it once; while it is in flight it comes back only after `done`.

    Of those that are `alone`, by their keys, a tenant has one in flight.
    """

    def __init__(self, in_flight_of_tenant: int = 16, alone: Callable[[str], bool] = lambda _: False) -> None:
        self._cap = in_flight_of_tenant
        self._alone = alone
        self._alone_of_tenant: dict[str, str] = {}  # the key that is in flight
        self._levels: dict[int, _Level] = {}
        self._known: dict[str, Waiting] = {}  # the oldest first
        self._in_flight: dict[str, Waiting] = {}
        self._of_tenant: dict[str, int] = {}
        self._again: set[str] = set()
        self._later: list[tuple[float, int, Waiting]] = []
        self._delayed: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self._numbers = itertools.count()
        self._turns = 0

    def __len__(self) -> int:
        """Requests that wait, for their turn or for their time."""
        return len(self._known) + len(self._delayed)

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def add(self, waiting: Waiting, *, at_head: bool = False) -> None:
        if waiting.key in self._in_flight:
            self._again.add(waiting.key)
            return
        self._delayed.pop(waiting.key, None)
        if waiting.key in self._known:
            if self._known[waiting.key] == waiting and not at_head:
                return
            self._drop(waiting.key)
        self._known[waiting.key] = waiting
        tenants = self._levels.setdefault(waiting.priority, _Level()).tenants
        line = tenants.setdefault(waiting.tenant, deque())
        if at_head:
            line.appendleft(waiting.key)
            tenants.move_to_end(waiting.tenant, last=False)
        else:
            line.append(waiting.key)

    def add_later(self, waiting: Waiting, now: float) -> float:
        """After a failure: twice as long as the last time, up to a minute; gives the delay."""
        failures = self._failures[waiting.key] = self._failures.get(waiting.key, 0) + 1
        delay: float = min(_FIRST_DELAY_SECONDS * 2 ** (failures - 1), _MAX_DELAY_SECONDS)
        number = next(self._numbers)
        self._delayed[waiting.key] = number
        heapq.heappush(self._later, (now + delay, number, waiting))
        return delay

    def take(self, now: float) -> Waiting | None:
        """The next one, which is in flight from now on; None while there is none that may go."""
        self._wake(now)
        if self._turns % _BY_AGE == _BY_AGE - 1:
            for waiting in self._known.values():
                if self._may_go(waiting):
                    self._drop(waiting.key)
                    return self._start(waiting)
        for priority in sorted(self._levels, reverse=True):
            tenants = self._levels[priority].tenants
            for tenant, line in tenants.items():
                waiting = self._known[line[0]]
                if self._may_go(waiting):
                    if len(line) > 1:
                        tenants.move_to_end(tenant)
                    self._drop(waiting.key)
                    return self._start(waiting)
        return None

    def done(self, key: str, *, succeeded: bool = True) -> None:
        """No longer in flight; if it was added meanwhile, it waits again."""
        waiting = self._in_flight.pop(key)
        if self._alone_of_tenant.get(waiting.tenant) == key:
            del self._alone_of_tenant[waiting.tenant]
        self._of_tenant[waiting.tenant] -= 1
        if not self._of_tenant[waiting.tenant]:
            del self._of_tenant[waiting.tenant]
        if succeeded:
            self._failures.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(waiting)

    def forget(self, key: str) -> None:
        """The request is gone."""
        self._again.discard(key)
        self._failures.pop(key, None)
        self._delayed.pop(key, None)
        if key in self._known:
            self._drop(key)

    def wake_all(self) -> None:
        """Something has changed that may help those who failed: their time has come."""
        for _, number, waiting in sorted(self._later):
            if self._delayed.get(waiting.key) == number:
                self.add(waiting)
        self._later.clear()

    def _wake(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            _, number, waiting = heapq.heappop(self._later)
            if self._delayed.get(waiting.key) == number:
                self.add(waiting)

    def _may_go(self, waiting: Waiting) -> bool:
        if self._of_tenant.get(waiting.tenant, 0) >= self._cap:
            return False
        return waiting.tenant not in self._alone_of_tenant or not self._alone(waiting.key)

    def _start(self, waiting: Waiting) -> Waiting:
        self._turns += 1
        if self._alone(waiting.key):
            self._alone_of_tenant[waiting.tenant] = waiting.key
        self._in_flight[waiting.key] = waiting
        self._of_tenant[waiting.tenant] = self._of_tenant.get(waiting.tenant, 0) + 1
        return waiting

    def _drop(self, key: str) -> None:
        waiting = self._known.pop(key)
        line = self._levels[waiting.priority].tenants[waiting.tenant]
        line.remove(key)
        if not line:
            del self._levels[waiting.priority].tenants[waiting.tenant]
            if not self._levels[waiting.priority].tenants:
                del self._levels[waiting.priority]
