"""The API server's clock: by it objects are created, and it is the same for every process."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

# A Date has whole seconds; an answer may be on its way for another.
_PRECISION_SECONDS = 2.0


class ServerClock:
    """Our own clock until the first answer was noted; from then on only how fast that runs counts."""

    def __init__(
        self, wall: Callable[[], float] = time.time, passing: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall = wall
        self._passing = passing
        self._offset: float | None = None

    def now(self) -> float:
        """Seconds since 1970, within two."""
        return self._wall() if self._offset is None else self._passing() + self._offset

    def note(self, date: str | None) -> None:
        """The header Date of an answer that has just come; what is none says nothing."""
        try:
            at = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, OverflowError):
            return
        if self._offset is None or not at <= self.now() <= at + _PRECISION_SECONDS:
            self._offset = at - self._passing()
