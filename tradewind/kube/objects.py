"""What every object of the API has, read even where the rest of it cannot be."""

from typing import NamedTuple

import msgspec

from tradewind.errors import QuantityError, UnreadableObjectError

# What bytes that are no such object end in; a RecursionError comes from brackets nested too deep.
UNREADABLE = (msgspec.MsgspecError, QuantityError, UnicodeDecodeError, RecursionError)


class Identity(msgspec.Struct, rename="camel", gc=False):
    """What can be said of an object even where the rest of it cannot be read."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class PodReference(NamedTuple):
    namespace: str
    name: str
    uid: str  # may be empty, but then `kubectl describe` does not find an Event about it


class _Identified(msgspec.Struct, gc=False):
    metadata: Identity


_identity_decoder = msgspec.json.Decoder(_Identified)


def read_identity(data: bytes | msgspec.Raw) -> Identity:
    try:
        return _identity_decoder.decode(data).metadata
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in an object without readable metadata") from error
