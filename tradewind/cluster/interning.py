"""Parts that many objects share, such as the labels of a workload's pods, are decoded and kept once."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from tradewind.cluster.wire import NULL

# A list is in the order of names, so that equal parts come one after the other; watches bring them mixed.
MAX_KEPT = 8192

Value = TypeVar("Value")


class InterningDecoder(Generic[Value]):
    """Reads JSON of one kind, or null, and makes a value of it that nobody may change."""

    def __init__(self, kind: Any, make: Callable[[Any], Value], place: str = "") -> None:
        """`place` is where the part stands in its object, for those who must find a mistake."""
        decoder = msgspec.json.Decoder(kind | None)
        self._place = place
        self._read: Callable[[bytes], Value] = lru_cache(MAX_KEPT)(lambda data: make(decoder.decode(data)))
        self._of_null = self._read(b"null")

    def __call__(self, part: msgspec.Raw) -> Value:
        if part is NULL:  # the part was left out
            return self._of_null
        try:
            return self._read(bytes(part))
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
