"""Objects of one resource as the watch last saw them, and which of them have changed."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE, read_identity
from tradewind.kube.watch import Resource


class Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def version(self) -> str: ...  # the resourceVersion


Record = TypeVar("Record", bound=Named)


class Mirror(Generic[Record]):
    """Filled by the thread of its watch; any thread may read. `wake` is called after each change."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._lock = threading.Lock()
        self._wake = wake
        self._records: dict[str, Record] = {}
        self._changed: set[str] = set()

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> Record | None:
        return self._records.get(key)

    def all(self) -> list[Record]:
        with self._lock:
            return list(self._records.values())

    def take_changed(self) -> set[str]:
        """Keys of what was added, changed or removed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
            return changed

    def apply(self, record: Record) -> None:
        """A version that is older than the one that is there, as our own write left it, is passed over."""
        key = key_of(record) or ""
        with self._lock:
            known = self._records.get(key)
            if known is not None and _number(known.version) >= _number(record.version) > 0:
                return
            self._records[key] = record
            self._changed.add(key)
        self._wake()

    def remove(self, key: str) -> None:
        with self._lock:
            if self._records.pop(key, None) is not None:
                self._changed.add(key)
        self._wake()

    def retain(self, keys: Iterable[str]) -> None:
        kept = set(keys)
        for key in [key for key in self._records if key not in kept]:
            self.remove(key)

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def resource(
        self,
        name: str,
        path: str,
        kind: type[Any],
        make: Callable[[Any], Record],
        selection: dict[str, str] | None = None,
    ) -> Resource:
        decoder = msgspec.json.Decoder(kind)

        def read(data: msgspec.Raw) -> Record:
            try:
                return make(decoder.decode(data))
            except UNREADABLE as error:
                identity = read_identity(data)
                place = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
                raise UnreadableObjectError(f"{error} in {name} {place}") from error

        return Resource(
            name=name,
            key=key_of,
            read=read,
            kind=kind,
            make=make,
            apply=self.apply,
            remove=self.remove,
            retain=self.retain,
            batch=self.batch,
            selection=selection or {},
            path=path,
        )


def key_of(named: Any) -> str | None:
    """Of a record, or of an object's metadata."""
    if not named.name:
        return None
    return f"{named.namespace}/{named.name}" if named.namespace else str(named.name)


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0
