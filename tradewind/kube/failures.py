"""What can go wrong between us and the API server, as an ApiError: one mapping for every kind of request."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TypeVar

import msgspec
import urllib3

from tradewind.errors import ApiError, ConflictError, GoneError, NotFoundError
from tradewind.kube.official import ConfigException

_KINDS: dict[int, type[ApiError]] = {
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.GONE: GoneError,
}
# What bytes that are no JSON of ours end in; a RecursionError comes from brackets nested too deep.
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

Decoded = TypeVar("Decoded")


class Status(msgspec.Struct):
    """How the API server says that something went wrong."""

    code: int = 0
    message: str = ""

    def error(self) -> ApiError:
        kind = _KINDS.get(self.code, ApiError)
        return kind(f"the API server answers {self.code}: {self.message}", self.code)


_status_decoder = msgspec.json.Decoder(Status)


def refusal(status: int, reason: str | None, body: bytes) -> ApiError:
    """Of a response that is no success; `reason` stands in for a body that is no Status."""
    try:
        message = _status_decoder.decode(body).message
    except _UNREADABLE:
        message = ""
    return Status(status, message or str(reason)).error()


def decoded(decoder: msgspec.json.Decoder[Decoded], data: bytes | msgspec.Raw) -> Decoded:
    """Raise ApiError for an answer that makes no sense."""
    try:
        return decoder.decode(data)
    except _UNREADABLE as error:
        raise ApiError(f"the API server's answer cannot be read ({error}): {bytes(data)[:80]!r}") from error


@contextmanager
def api_errors(*others: type[Exception]) -> Iterator[None]:
    """Whatever urllib3 raises, the official client for credentials, or `others`, leaves as an ApiError."""
    failed: tuple[type[Exception], ...] = (urllib3.exceptions.HTTPError, OSError, *others)
    try:
        yield
    except ConfigException as error:
        raise ApiError(f"the credentials cannot be renewed: {error}") from error
    except (urllib3.exceptions.ReadTimeoutError, TimeoutError) as error:
        raise ApiError("the API server has fallen silent") from error
    except failed as error:
        text = str(error) or type(error).__name__
        raise ApiError(f"the connection to the API server failed: {text}") from error
