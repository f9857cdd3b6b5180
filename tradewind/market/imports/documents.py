"""JSON, with the place of what is wrong."""

from typing import TypeVar

import msgspec

from tradewind.errors import PriceTableError

Document = TypeVar("Document")


def decoded(text: str, shape: type[Document]) -> Document:
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.DecodeError as error:
        raise PriceTableError(f"{_place(text, error)}{error}") from error


def _place(text: str, error: Exception) -> str:
    """Line and column of broken JSON; the path of a wrong value is in the message already."""
    _, found, position = str(error).rpartition("(byte ")
    if not found:
        return ""
    before = text.encode()[: int(position.rstrip(")"))].decode(errors="replace")
    return f"line {before.count(chr(10)) + 1}, column {len(before) - before.rfind(chr(10))}: "
