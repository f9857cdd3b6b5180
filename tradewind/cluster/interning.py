"""Parts that many objects share, such as the labels of a workload's pods, are decoded and kept once."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from tradewind.cluster.wire import NULL

# A list is in the order of names, so that equal parts come one after the other; watches bring them mixed.
MAX_KEPT = 8192
# Bytes: a pod may have a megabyte of labels, and the next pod others.
_MAX_KEPT_SIZE = 8192

Value = TypeVar("Value")


def is_kept(key: object) -> bool:
    """Whether what is as large as this, which others may share, is kept."""
    return _size(key) <= _MAX_KEPT_SIZE


def _size(part: object) -> int:
    if isinstance(part, bytes | str):
        return len(part)
    return sum(map(_size, part)) if isinstance(part, tuple | frozenset) else 0


class InterningDecoder(Generic[Value]):
    """Reads JSON of one kind, or null, and makes a value of it that nobody may change."""

    def __init__(self, kind: Any, make: Callable[[Any], Value], place: str = "") -> None:
        """`place` is where the part stands in its object, for those who must find a mistake."""
        decoder = msgspec.json.Decoder(kind | None)
        self._place = place
        self._make: Callable[[bytes], Value] = lambda data: make(decoder.decode(data))
        self._read: Callable[[bytes], Value] = lru_cache(MAX_KEPT)(self._make)
        self._of_null = self._read(b"null")

    def __call__(self, part: msgspec.Raw) -> Value:
        if part is NULL:  # the part was left out
            return self._of_null
        try:
            data = bytes(part)
            return self._read(data) if is_kept(data) else self._make(data)
        except msgspec.MsgspecError as error:
            raise msgspec.ValidationError(self._placed(str(error))) from error

    def _placed(self, message: str) -> str:
        if not self._place:
            return message
        return (
            message.replace("`$", f"`$.{self._place}")
            if "`$" in message
            else f"{message} - at `$.{self._place}`"
        )
