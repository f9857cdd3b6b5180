"""Follows the guide that the leading planner publishes, while it may be followed; otherwise there is none.

Apart from the watches of the cluster state: without a guide, or without the right to read it, everything else
goes on.
"""

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import NamedTuple

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import CONFIG_MAP, JOURNAL_KEY, KEY, Guide, GuideError, GuideVersionError, decode
from tradewind.cluster.metrics import GuideMetrics
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE, Identity
from tradewind.kube.watch import Resource

_log = logging.getLogger(__name__)


class _Object(msgspec.Struct):
    metadata: Identity
    data: dict[str, str] | None = None


class _Published(NamedTuple):
    name: str
    text: str
    journal: str | None


_decoder = msgspec.json.Decoder(_Object)


class GuideFollower:
    """Fed by the thread of a watch; `check` may be called from any thread."""

    def __init__(self, cache: Cache, metrics: GuideMetrics) -> None:
        self._cache = cache
        self._metrics = metrics
        self._lock = threading.Lock()
        self._guide: Guide | None = None
        self.journal: str | None = None  # as published; however old, and whoever can read it
        self._until = 0.0  # of time.monotonic: no other clock is trusted alone
        metrics.age.set_function(self._age_seconds)

    def resource(self, namespace: str) -> Resource:
        return Resource(
            name="guide",
            key=attrgetter("name"),
            read=_read,
            kind=_Object,
            make=_made,
            apply=self._apply,
            remove=self._remove,
            retain=self._retain,
            batch=_batch,
            # With the name, so that the right to this one object is enough.
            selection={"field_selector": f"metadata.name={CONFIG_MAP}"},
            path=f"/api/v1/namespaces/{namespace}/configmaps",
        )

    def check(self) -> None:
        """Let go of a guide that has become too old."""
        with self._lock:
            guide = self._guide
            if guide is not None and (time.monotonic() >= self._until or time.time() >= guide.until):
                self._refuse(
                    "old", f"it is {time.time() - guide.solved_at:.0f} s old, and none came after it"
                )

    def _apply(self, published: _Published) -> None:
        with self._lock:
            self.journal = published.journal
            try:
                guide = decode(published.text)
            except GuideVersionError as error:
                self._refuse("version", str(error))
            except GuideError as error:
                self._refuse("corrupt", str(error))
            else:
                self._take(guide)

    def _take(self, guide: Guide) -> None:
        lives = min(guide.until - time.time(), guide.until - guide.solved_at)
        if lives <= 0:
            self._refuse("old", f"it is {time.time() - guide.solved_at:.0f} s old")
            return
        if self._guide is None:
            _log.info("following the guide of the standing plan")
        self._until = time.monotonic() + lives
        self._follow(guide)

    def _remove(self, _name: str) -> None:
        with self._lock:
            self.journal = None
            if self._guide is not None:
                self._refuse("deleted", f"ConfigMap {CONFIG_MAP} was deleted")

    def _retain(self, names: Iterable[str]) -> None:
        if CONFIG_MAP not in names:
            self._remove(CONFIG_MAP)

    def _refuse(self, reason: str, text: str) -> None:
        self._metrics.refused.labels(reason).inc()
        level = logging.INFO if reason == "deleted" else logging.WARNING
        _log.log(level, "no guide of the standing plan is followed, scores do without: %s", text)
        self._follow(None)

    def _follow(self, guide: Guide | None) -> None:
        self._guide = guide
        self._metrics.followed.set(guide is not None)
        self._cache.follow_guide(guide)

    def _age_seconds(self) -> float:
        guide = self._guide
        return time.time() - guide.solved_at if guide else float("nan")


def _made(obj: _Object) -> _Published:
    data = obj.data or {}
    return _Published(obj.metadata.name or "", data.get(KEY, ""), data.get(JOURNAL_KEY))


def _read(data: msgspec.Raw) -> _Published:
    try:
        return _made(_decoder.decode(data))
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in ConfigMap {CONFIG_MAP}") from error


@contextmanager
def _batch() -> Iterator[None]:
    yield
