"""The floor of the extender protocol: agrees to every node and prefers none, at the price of a byte search.

What kube-scheduler loses with this extender, it loses with every one that speaks HTTP and JSON; only what a
contender loses beyond it is its own. So nothing is decoded here: the bytes of NodeNames are found in the
body, go back as they are for filter, and become an answer to prioritize by one replacement. Answers are kept
by those bytes, yet few are asked for twice: kube-scheduler's workers find the nodes in a different order for
nearly every pod.

`python -m bench.echo PORT` serves on that port of 127.0.0.1. GET answers with Prometheus counters.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from typing import cast

import uvloop

_END_OF_HEAD = b"\r\n\r\n"
_CONTENT_LENGTH = b"\r\ncontent-length:"
# Quotes inside a JSON string are escaped, so this cannot stand in an annotation of the pod.
_NODE_NAMES = b'"NodeNames":['
# 5,000 names and their scores take 300 kB: a few requests' worth is enough to be asked again.
_MOST_ANSWERS = 64


class RefusedError(Exception):
    """A request that kube-scheduler with `nodeCacheCapable: true` does not send."""


def node_names(body: bytes) -> bytes:
    """The JSON array of the node names, as it stands in the body."""
    start = body.find(_NODE_NAMES)
    if start < 0:
        raise RefusedError("the request has no NodeNames; the entry needs nodeCacheCapable: true")
    start += len(_NODE_NAMES) - 1
    # NodeNames is the last key, and a node's name holds no bracket.
    return body[start : body.index(b"]", start) + 1]


def filter_answer(names: bytes) -> bytes:
    return b'{"NodeNames":%b}' % names


def prioritize_answer(names: bytes) -> bytes:
    if names == b"[]":
        return names
    return b'[{"Host":%b,"Score":0}]' % names[1:-1].replace(b",", b',"Score":0},{"Host":')


_ANSWERS: dict[bytes, Callable[[bytes], bytes]] = {b"filter": filter_answer, b"prioritize": prioritize_answer}


class Echo:
    """The answers given so far, and how many there were of each kind."""

    def __init__(self) -> None:
        self._cache: dict[tuple[bytes, bytes], bytes] = {}
        self._requests: Counter[bytes] = Counter()
        self._from_cache: Counter[bytes] = Counter()

    def answer(self, verb: bytes, body: bytes) -> bytes:
        if verb not in _ANSWERS:
            raise RefusedError(f"no such verb: {verb.decode(errors='replace')}")
        names = node_names(body)
        key = (verb, names)
        answer = self._cache.get(key)
        self._requests[verb] += 1
        if answer is not None:
            self._from_cache[verb] += 1
            return answer
        if len(self._cache) >= _MOST_ANSWERS:
            self._cache.clear()
        self._cache[key] = answer = _ANSWERS[verb](names)
        return answer

    def metrics(self) -> bytes:
        """Named as bench.service expects them of every contender."""
        lines = [b'echo_requests_total{verb="%b",outcome="ok"} %d' % row for row in self._requests.items()]
        lines += [b'echo_cached_answers_total{verb="%b"} %d' % row for row in self._from_cache.items()]
        return b"\n".join([*lines, b""])


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, as far as kube-scheduler uses it: one request at a time, length known."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._received = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have asyncio's methods, not its classes.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_END_OF_HEAD)
        if end < 0:
            return
        head = bytes(self._received[:end])
        start = end + len(_END_OF_HEAD)
        length = _content_length(head)
        if len(self._received) - start < length:
            return
        body = bytes(self._received[start : start + length])
        del self._received[: start + length]
        self._respond(head, body)

    def _respond(self, head: bytes, body: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        try:
            if method == b"POST":
                self._write(b"200 OK", b"application/json", self._echo.answer(path.strip(b"/"), body))
            else:
                self._write(b"200 OK", b"text/plain", self._echo.metrics())
        except RefusedError as error:
            self._write(b"400 Bad Request", b"text/plain", str(error).encode())

    def _write(self, status: bytes, content_type: bytes, body: bytes) -> None:
        head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
        self._transport.write(head % (status, content_type, len(body)) + body)


def _content_length(head: bytes) -> int:
    _, _, rest = head.lower().partition(_CONTENT_LENGTH)
    return int(rest.partition(b"\r\n")[0] or 0)


async def serve(port: int) -> None:
    echo = Echo()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(echo), "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    uvloop.run(serve(int(sys.argv[1])))


if __name__ == "__main__":
    main()
