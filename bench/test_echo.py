"""The echo extender answers a real kube-scheduler's requests as an extender that decodes them would."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from bench.echo import Connection, Echo, RefusedError

_GOLDEN = Path(__file__).parent.parent / "tests" / "golden"
_REQUESTS = sorted(_GOLDEN.glob("*-names-*.json"))


def _requests(verb: str) -> list[Path]:
    return [path for path in _REQUESTS if path.name.startswith(verb)]


@pytest.mark.parametrize("path", _requests("filter"), ids=lambda path: path.stem)
def test_filter_keeps_every_node(path: Path) -> None:
    body = path.read_bytes()
    answer = msgspec.json.decode(Echo().answer(b"filter", body))
    assert answer == {"NodeNames": msgspec.json.decode(body)["NodeNames"]}


@pytest.mark.parametrize("path", _requests("prioritize"), ids=lambda path: path.stem)
def test_prioritize_scores_every_node_alike(path: Path) -> None:
    body = path.read_bytes()
    answer = msgspec.json.decode(Echo().answer(b"prioritize", body))
    assert answer == [{"Host": name, "Score": 0} for name in msgspec.json.decode(body)["NodeNames"]]


def test_an_annotation_cannot_be_taken_for_the_names() -> None:
    pod = {"metadata": {"annotations": {"note": '"NodeNames":["forged"]'}}}
    body = msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": ["a"]})
    assert Echo().answer(b"filter", body) == b'{"NodeNames":["a"]}'


def test_no_nodes_get_no_scores() -> None:
    assert Echo().answer(b"prioritize", b'{"Pod":{},"Nodes":null,"NodeNames":[]}') == b"[]"


def test_whole_nodes_are_refused() -> None:
    with pytest.raises(RefusedError, match="nodeCacheCapable"):
        Echo().answer(b"filter", (_GOLDEN / "filter-nodes-urgent.json").read_bytes())


def test_many_different_requests_do_not_fill_the_memory() -> None:
    echo = Echo()
    for number in range(1_000):
        echo.answer(b"filter", b'{"NodeNames":["node-%d"]}' % number)
    assert len(echo._cache) <= 64  # noqa: SLF001  the outside cannot show it


def test_metrics_count_requests_and_those_answered_from_the_cache() -> None:
    echo = Echo()
    for name in (b"a", b"b", b"b"):
        echo.answer(b"filter", b'{"NodeNames":["%b"]}' % name)
    assert echo.metrics() == (
        b'echo_requests_total{verb="filter",outcome="ok"} 3\necho_cached_answers_total{verb="filter"} 1\n'
    )


class _Transport(asyncio.Transport):
    """Keeps what is written; closing it is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data


@pytest.fixture
def transport() -> _Transport:
    return _Transport()


@pytest.fixture
def connection(transport: _Transport) -> Connection:
    connection = Connection(Echo())
    connection.connection_made(transport)
    return connection


def _post(verb: bytes, body: bytes) -> bytes:
    return b"POST /%b HTTP/1.1\r\nHost: x\r\ncontent-Length: %d\r\n\r\n%b" % (verb, len(body), body)


_ANSWER = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{"NodeNames":["a"]}'
)


@pytest.mark.parametrize("piece", [1, 7, 10_000], ids="in pieces of {} bytes".format)
def test_a_connection_answers_one_request_after_another(
    connection: Connection, transport: _Transport, piece: int
) -> None:
    for answered in (1, 2, 3):
        sent = _post(b"filter", b'{"Pod":{},"Nodes":null,"NodeNames":["a"]}')
        for start in range(0, len(sent), piece):
            connection.data_received(sent[start : start + piece])
        assert transport.written == answered * _ANSWER


def test_an_unknown_verb_is_an_error_that_the_scheduler_sees(
    connection: Connection, transport: _Transport
) -> None:
    connection.data_received(_post(b"bind", b"{}"))
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert transport.written.endswith(b"no such verb: bind")
