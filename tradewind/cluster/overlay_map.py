"""A mapping whose copies share what has not changed since."""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Generic, TypeVar

_SMALL = 64

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class OverlayMap(Mapping[_Key, _Value], Generic[_Key, _Value]):
    """A large dict that nobody changes, and what is different since.

    A copy to change shares the dict, so it costs next to nothing however many keys there are. The two are put
    together when a reader wants all of it, or when there are many differences.
    """

    __slots__ = ("_base", "_differences", "_size", "_whole")

    def __init__(self, base: dict[_Key, _Value] | None = None) -> None:
        self._base: dict[_Key, _Value] = {} if base is None else base
        self._differences: dict[_Key, _Value | None] = {}  # None: no longer there
        self._size = len(self._base)
        self._whole: dict[_Key, _Value] | None = self._base

    def copy(self) -> "OverlayMap[_Key, _Value]":
        """For an owner to change, as long as nobody else holds it."""
        few = len(self._differences) ** 2 <= _SMALL + len(self._base)
        if self._whole is not None or not few:
            return OverlayMap(self._all())
        copied: OverlayMap[_Key, _Value] = OverlayMap(self._base)
        copied._differences = self._differences.copy()
        copied._size = self._size
        copied._whole = None
        return copied

    def put(self, key: _Key, value: _Value | None) -> None:
        """None takes the key away."""
        self._size += (value is not None) - (self.find(key) is not None)
        self._whole = None
        if value is None and key not in self._base:
            self._differences.pop(key, None)
        else:
            self._differences[key] = value

    def find(self, key: _Key) -> _Value | None:
        differences = self._differences
        return differences[key] if key in differences else self._base.get(key)

    def __getitem__(self, key: _Key) -> _Value:
        value = self.find(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return self.find(key) is not None  # type: ignore[arg-type]  # any object may be looked for

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._all())

    def keys(self) -> KeysView[_Key]:
        return self._all().keys()

    def values(self) -> ValuesView[_Value]:
        return self._all().values()

    def items(self) -> ItemsView[_Key, _Value]:
        return self._all().items()

    def _all(self) -> dict[_Key, _Value]:
        whole = self._whole
        if whole is None:
            whole = dict(self._base)
            for key, value in self._differences.items():
                if value is None:
                    del whole[key]
                else:
                    whole[key] = value
            self._whole = whole
        return whole
