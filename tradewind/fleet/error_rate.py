"""How often a site fails to place its pods: the health that it tells the fleet."""

from collections.abc import Iterable

_FAILED_SECONDS = 60.0  # a pod that waits longer counts as a failure, once
_HALF_LIFE_SECONDS = 600.0  # of what counted


class ErrorRate:
    """Fed with the pods that wait, every few seconds; a pod that no longer waits was placed, or has gone."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._failed: set[str] = set()
        self._failures = 0.0
        self._placed = 0.0
        self._time: float | None = None

    def observe(self, waiting: Iterable[str], now: float) -> float:
        """The share of failures of late, 0..1; 0 while nothing has happened."""
        self._fade(now)
        uids = set(waiting)
        for uid in self._since.keys() - uids:
            del self._since[uid]
            self._placed += 1
        self._failed &= uids
        for uid in uids:
            since = self._since.setdefault(uid, now)
            if now - since >= _FAILED_SECONDS and uid not in self._failed:
                self._failed.add(uid)
                self._failures += 1
        total = self._failures + self._placed
        return self._failures / total if total else 0.0

    def _fade(self, now: float) -> None:
        if self._time is not None:
            factor = 0.5 ** (max(0.0, now - self._time) / _HALF_LIFE_SECONDS)
            self._failures *= factor
            self._placed *= factor
        self._time = now
