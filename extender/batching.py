"""When what has happened is a batch."""

from cluster.cache import News
from planner.settings import BatchSettings


class Window:
    """Open from the first news on; closed by the number of pods, by time, or when nothing more comes."""

    def __init__(self, settings: BatchSettings, start: News, now: float, least: float = 0.0) -> None:
        """`start` is the count before the first news.

        The number alone closes it only after `least` seconds: where plans take long, few of them are better.
        """
        self._settings = settings
        self._least = least
        self._start = start
        self._newest = start
        self._opened = self._last = now

    def note(self, news: News, now: float) -> None:
        if news != self._newest:
            self._newest, self._last = news, now

    def remaining(self, now: float) -> float:
        """Seconds until it closes by itself; 0 or less: it is closed."""
        full = self._newest.arrivals - self._start.arrivals >= self._settings.events
        seconds = min(self._least, self._settings.seconds) if full else self._settings.seconds
        return min(self._opened + seconds, self._last + self._settings.pause_seconds) - now
