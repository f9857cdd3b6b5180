"""The decisions of several replicas as one list: each knows those that it has made itself."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from pydantic import ValidationError

from tradewind.errors import TradewindError
from tradewind.explain.explanation import Explanation
from tradewind.page.stream import MOST, Stream, Told

STREAM_PATH = "/decisions.json"
_SECONDS = 5.0
_AT_ONCE = 8

_stream_decoder = msgspec.json.Decoder(Stream)
_Answer = TypeVar("_Answer")


class ReplicaError(TradewindError):
    """A replica does not answer, or not as this Tradewind does."""


class ReplicaDecisions:
    def __init__(self, urls: Mapping[str, str]) -> None:
        """By the replica's name, where it serves the page."""
        self._urls = dict(urls)
        self._pool = urllib3.PoolManager(maxsize=_AT_ONCE)
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="replicas")
        self._troubles: dict[str, str] = {}

    @property
    def replicas(self) -> Sequence[str]:
        return tuple(self._urls)

    @property
    def troubles(self) -> Sequence[str]:
        return tuple(f"{replica}: {trouble}" for replica, trouble in sorted(self._troubles.items()))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.clear()

    def stream(self, *, kind: str, namespace: str) -> Stream:
        asked = f"{STREAM_PATH}?{urlencode({'show': kind, 'namespace': namespace})}"
        return merged(self._ask_all(asked, _stream_decoder.decode))

    def explained(self, namespace: str, name: str) -> Explanation | None:
        """The newest answer of any of them."""
        path = f"/explain/{quote(namespace, safe='')}/{quote(name, safe='')}"
        found = self._ask_all(path, Explanation.model_validate_json)
        return max(found, key=lambda each: each.decided_at, default=None)

    def _ask_all(self, path: str, read: Callable[[bytes], _Answer]) -> list[_Answer]:
        found = self._threads.map(lambda replica: self._ask(replica, path, read), self._urls)
        return [each for each in found if each is not None]

    def _ask(self, replica: str, path: str, read: Callable[[bytes], _Answer]) -> _Answer | None:
        try:
            answer = self._fetch(f"{self._urls[replica]}{path}", read)
        except ReplicaError as error:
            self._troubles[replica] = str(error)
            return None
        self._troubles.pop(replica, None)
        return answer

    def _fetch(self, url: str, read: Callable[[bytes], _Answer]) -> _Answer | None:
        """None where the replica knows nothing of it."""
        try:
            answer = self._pool.request("GET", url, timeout=_SECONDS, retries=False)
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            if answer.status != HTTPStatus.OK:
                raise ReplicaError(f"it answers {answer.status}")
            return read(answer.data)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ReplicaError("it does not answer") from error
        except (msgspec.DecodeError, ValidationError) as error:
            raise ReplicaError("it answers as another version does") from error


def merged(streams: Sequence[Stream]) -> Stream:
    """Of a pod that several were asked about, the newest; kube-scheduler asks one at a time."""
    newest: dict[tuple[str, str], Told] = {}
    for each in (told for found in streams for told in found.told):
        before = newest.get((each.namespace, each.name))
        if before is None or before.at < each.at:
            newest[each.namespace, each.name] = each
    twice = sum(len(found.told) for found in streams) - len(newest)
    return Stream(
        told=sorted(newest.values(), key=lambda each: -each.at)[:MOST],
        found=sum(found.found for found in streams) - twice,
        kept=sum(found.kept for found in streams) - twice,
        namespaces=sorted({name for found in streams for name in found.namespaces}),
    )
