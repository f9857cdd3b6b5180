"""kube-scheduler's side of the conversation without it: filter, then prioritize, one pod at a time.

The candidates come in another order for every pod, as kube-scheduler's workers find them. A request is
timed from its first byte sent to its answer's last byte read; neither making it nor reading what it says is
timed.
"""

import itertools
import random
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from bench import listing
from bench.errors import MeasurementError

_LONGEST_SECONDS = 60.0
_RECEIVE = 2**20
_KINDS_OF_PODS = 1_000


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Seconds that one pod's two requests took."""

    filter: float
    prioritize: float


class Replay:
    """One connection that stays open, as kube-scheduler keeps it."""

    def __init__(self, url: str, node_names: Sequence[str], candidates: int) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname, address.port), _LONGEST_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._chance = random.Random(candidates)
        self._names = node_names
        self._candidates = candidates
        self._pods = _distinct_pods()

    def pair(self) -> Pair:
        pod = next(self._pods)
        names = self._chance.sample(self._names, self._candidates)
        filtering, answer = self._ask("filter", pod, names)
        passed = answer["NodeNames"] if isinstance(answer, dict) else None
        if not passed:
            raise MeasurementError(f"filter lets no node pass: {str(answer)[:500]}")
        ranking, answer = self._ask("prioritize", pod, passed)
        if len(answer) != len(passed):
            raise MeasurementError(f"prioritize scores {len(answer)} of {len(passed)} nodes")
        return Pair(filter=filtering, prioritize=ranking)

    def _ask(self, verb: str, pod: bytes, names: Sequence[str]) -> tuple[float, Any]:
        body = b'{"Pod":%b,"Nodes":null,"NodeNames":%b}' % (pod, msgspec.json.encode(names))
        head = f"POST /{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        request = head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body
        started = time.perf_counter()
        self._socket.sendall(request)
        answer = self._receive()
        return time.perf_counter() - started, msgspec.json.decode(answer)

    def _receive(self) -> bytes:
        received = self._more(b"")
        while (end := received.find(b"\r\n\r\n")) < 0:
            received = self._more(received)
        head = received[:end].lower()
        if not head.startswith(b"http/1.1 200 "):
            raise MeasurementError(f"the extender answers {received[:500].decode(errors='replace')}")
        whole = end + 4 + int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        parts, size = [received[end + 4 :]], len(received)
        while size < whole:
            parts.append(self._more(b""))
            size += len(parts[-1])
        return b"".join(parts)

    def _more(self, received: bytes) -> bytes:
        chunk = self._socket.recv(_RECEIVE)
        if not chunk:
            raise MeasurementError("the extender closed the connection in the middle of an answer")
        return received + chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def _distinct_pods() -> Iterator[bytes]:
    """No two pods are the same one, and their requests repeat only as those of a real cluster do."""
    for number, pod in enumerate(itertools.cycle(list(listing.waiting_pods(_KINDS_OF_PODS)))):
        name = {"name": f"replayed-{number}", "uid": f"replayed-{number}"}
        yield msgspec.json.encode(pod | {"metadata": pod["metadata"] | name})
