"""List and watch of one resource: the loop of a thread that keeps a cache in step with the API server.

A watch resumes from the last version that was seen. When the server no longer knows that version, or what it
says cannot be trusted, the resource is relisted, and the list replaces what the cache held.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from tradewind.errors import ApiError, GoneError, UnreadableObjectError
from tradewind.kube.backoff import Backoff
from tradewind.kube.failures import Status, decoded
from tradewind.kube.objects import UNREADABLE, Identity, read_identity
from tradewind.kube.streams import Streams

_log = logging.getLogger(__name__)

_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})
_UNREADABLE = (*UNREADABLE, UnreadableObjectError)

# A watch that ends sooner, without an event, is a failure in disguise.
_SHORT_SECONDS = 1.0

# After so many watches without an event the resource is relisted. Perhaps nothing has happened; but a server
# whose data was restored from a backup is silent too, until it reaches the version that we ask for.
_MAX_SILENT_WATCHES = 10

# While a list is applied, whoever waits for the cache or for the interpreter gets a turn so often.
_YIELD_EVERY = 64
_YIELD_SECONDS = 0.00005


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How much at a time, and how long to wait for what."""

    page_size: int = 500
    # The server ends a watch after this, or up to twice as long. It sends bookmarks only when something has
    # changed, so that is its one sign of life in a quiet cluster.
    watch_seconds: int = 20
    patience_seconds: float = 30.0  # for the next byte of a list, and for the end of a watch that is due
    first_delay_seconds: float = 0.5  # doubled with each failure in a row
    max_delay_seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Resource:
    """What is listed, and where it goes."""

    name: str
    key: Callable[[Any], str | None]  # of an object as it is read, or of its identity or metadata
    read: Callable[[msgspec.Raw], Any]
    kind: Any  # the struct of its JSON, from which `make` makes the same as `read`
    make: Callable[[Any], Any]
    apply: Callable[[Any], None]
    remove: Callable[[str], None]
    retain: Callable[[Iterable[str]], None]
    batch: Callable[[], AbstractContextManager[None]]
    selection: Mapping[str, str] = field(default_factory=dict)
    path: str = ""  # where it is not below /api/v1


class _ListMetadata(msgspec.Struct, rename="camel", gc=False):
    resource_version: str
    token: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


_Object = TypeVar("_Object")


class _Event(msgspec.Struct, Generic[_Object], gc=False):
    type: str
    object: _Object


_list_decoder = msgspec.json.Decoder(_List)
_event_decoder = msgspec.json.Decoder(_Event[msgspec.Raw])
_status_decoder = msgspec.json.Decoder(Status)


class Watch:
    """The counters are written by one thread and may be read by any."""

    def __init__(self, resource: Resource, streams: Streams, pace: Pace, stop: threading.Event) -> None:
        self.name = resource.name
        self.events = 0  # changes that watches brought
        self.relists = 0  # complete lists after the first
        self.errors = 0  # failures of the connection or the server
        self.unreadable = 0  # objects, or versions of them, that were skipped
        self.trouble = ""  # the last failure, while it lasts
        self.listed = threading.Event()  # the first list is complete
        self._resource = resource
        self._path = resource.path or resource.name
        self._typed_decoder = msgspec.json.Decoder(_Event[resource.kind])  # type: ignore[name-defined]
        self._streams = streams
        self._pace = pace
        self._page_size = pace.page_size
        self._stop = stop
        self._version: str | None = None
        self._backoff = Backoff(pace.first_delay_seconds, pace.max_delay_seconds)
        self._gone_before = False
        self._silent_watches = 0
        self._sign_of_life = time.monotonic()

    @property
    def age_seconds(self) -> float:
        """Time since the API server was last heard of."""
        return time.monotonic() - self._sign_of_life

    def run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._version is None or self._silent_watches >= _MAX_SILENT_WATCHES:
                    self._version = self._list()
                self._watch(self._version)
            except GoneError as error:
                self._version = None
                if not self._gone_before:
                    self._backoff.reset()  # a server that answers need not be spared like one that is down
                self._gone_before = True
                self._pause(logging.INFO, error)
            except ApiError as error:
                self._note(error)
            except Exception as error:  # noqa: BLE001 (a dead thread would let the cache go stale in silence)
                self._version = None
                _log.exception("%s: unexpected failure, relisting", self.name)
                self._note(error)

    def _note(self, error: Exception) -> None:
        if not self._stop.is_set():
            self.errors += 1
            self.trouble = str(error)
            self._pause(logging.WARNING, error)

    def _pause(self, level: int, error: Exception) -> None:
        delay = self._backoff.next()
        _log.log(level, "%s: %s; retrying in %.1f s", self.name, error, delay)
        self._stop.wait(delay)

    def _list(self) -> str:
        objects: list[Any] = []
        keys: set[str] = set()
        version = ""
        for page in self._pages():
            version = page.metadata.resource_version
            for item in page.items or ():
                found = self._read(item)
                # Where it is unreadable, it keeps its key and so the version of before.
                key = self._resource.key(found if found is not None else self._identity(item))
                if key:
                    keys.add(key)
                    objects.append(found)
        self._replace(objects, keys)
        self._silent_watches = 0
        return version

    def _pages(self) -> Iterator[_List]:
        query: dict[str, Any] = {**self._resource.selection, "limit": self._page_size}
        while True:
            try:
                data = self._streams.page(self._path, query, self._pace.patience_seconds)
            except GoneError:
                # The list took longer than the server remembers: with fewer pages it is faster.
                self._page_size *= 2
                raise
            self._alive()
            page = decoded(_list_decoder, data)
            yield page
            if not page.metadata.token:
                return
            query["_continue"] = page.metadata.token

    def _replace(self, objects: Iterable[Any], keys: Iterable[str]) -> None:
        with self._resource.batch():
            for number, each in enumerate(objects, 1):
                if each is not None:
                    self._resource.apply(each)
                if number % _YIELD_EVERY == 0:
                    time.sleep(_YIELD_SECONDS)
            self._resource.retain(keys)
        if self.listed.is_set():
            self.relists += 1
        self.listed.set()

    def _watch(self, version: str) -> None:
        # Spread, so that the watches of many clients do not all end together.
        seconds = random.randint(self._pace.watch_seconds, 2 * self._pace.watch_seconds)  # noqa: S311
        query: dict[str, Any] = {
            "resource_version": version,
            "timeout_seconds": seconds,
            "allow_watch_bookmarks": True,
        }
        query |= self._resource.selection
        with self._streams.watch(self._path, query, seconds + self._pace.patience_seconds) as lines:
            self._alive()
            self._silent_watches += 1
            begin = time.monotonic()
            try:
                for line in lines:
                    self._alive()
                    self._take(line)
                    self._silent_watches = 0
                    self._recovered()
            finally:
                lasted = time.monotonic() - begin > _SHORT_SECONDS
                if lasted:
                    self._recovered()
        if self._silent_watches and not lasted:
            raise ApiError("the watch ended as soon as it began")
        self._alive()

    def _recovered(self) -> None:
        self._backoff.reset()
        self._gone_before = False

    def _take(self, line: bytes) -> None:
        if not self._take_readable(line):
            self._take_any(line)

    def _take_readable(self, line: bytes) -> bool:
        """In one pass what nearly every line is, a change of an object that can be read; else False."""
        try:
            event = self._typed_decoder.decode(line)
            metadata = event.object.metadata
            key = self._resource.key(metadata)
            if not key or event.type not in _CHANGES:
                return False
            changed = None if event.type == "DELETED" else self._resource.make(event.object)
        except _UNREADABLE:
            return False
        self.events += 1
        if changed is None:
            self._resource.remove(key)
        else:
            self._resource.apply(changed)
        self._version = metadata.resource_version or self._version
        return True

    def _take_any(self, line: bytes) -> None:
        try:
            event = decoded(_event_decoder, line)
        except ApiError:
            self._version = None  # nobody knows what the line was about
            raise
        if event.type == "ERROR":
            raise decoded(_status_decoder, event.object).error()
        identity = self._identity(event.object)
        if event.type in _CHANGES:
            self.events += 1
            self._change(event, self._key(identity))
        self._version = identity.resource_version or self._version

    def _change(self, event: _Event[msgspec.Raw], key: str) -> None:
        if key and event.type == "DELETED":
            self._resource.remove(key)
        elif key and (changed := self._read(event.object)) is not None:
            self._resource.apply(changed)

    def _identity(self, data: msgspec.Raw) -> Identity:
        try:
            return read_identity(data)
        except UnreadableObjectError:
            return Identity()

    def _key(self, found: Any) -> str:
        key: str | None = self._resource.key(found)
        if not key:
            self._skip("an object that does not say which it is")
        return key or ""

    def _read(self, data: msgspec.Raw) -> Any | None:
        try:
            return self._resource.read(data)
        except UnreadableObjectError as error:
            self._skip(error)
            return None

    def _skip(self, reason: object) -> None:
        self.unreadable += 1
        _log.warning("%s: skipped: %s", self.name, reason)

    def _alive(self) -> None:
        self._sign_of_life = time.monotonic()
        self.trouble = ""
