"""Whether the cluster state is recent enough to decide by."""

import logging
from collections.abc import Sequence

from tradewind.cluster.metrics import WatchView

_log = logging.getLogger(__name__)


class Freshness:
    def __init__(self, watches: Sequence[WatchView], max_age_seconds: float) -> None:
        self._watches = watches
        self._max_age_seconds = max_age_seconds
        self._was_stale = False

    @property
    def stale(self) -> str:
        """Which watch has been silent for too long; empty while none has. Cheap: every request asks."""
        for watch in self._watches:
            if watch.age_seconds > self._max_age_seconds:
                reason = (
                    f"the watch of {watch.name} has been silent for {watch.age_seconds:.0f} s, "
                    f"more than {self._max_age_seconds:g} s (staleSeconds)"
                )
                self._became(reason + (f": {watch.trouble}" if watch.trouble else ""))
                return reason
        if self._was_stale:
            self._became("")
        return ""

    def _became(self, reason: str) -> None:
        if reason and not self._was_stale:
            _log.warning("the cluster state is stale, failing open: %s", reason)
        elif not reason:
            _log.info("the cluster state is fresh again")
        self._was_stale = bool(reason)
