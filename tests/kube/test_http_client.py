"""What goes over the wire, and what becomes of connections; TLS is shown on a real API server in e2e."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from tradewind.kube.http_client import HttpClient, LostError, Response

_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_FINE = Response(200, "OK", {"content-length": "2"}, b"ok")

Result = TypeVar("Result")


class Server:
    """Answers with these bytes, one after the other; None closes the connection, "" says nothing."""

    def __init__(self, *answers: bytes | None) -> None:
        self._answers = list(answers)
        self.connections = 0
        self.requests: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                answer = self._answers.pop(0)
                if answer is None:
                    break
                for part in answer.partition(b"|"):
                    writer.write(part.replace(b"|", b""))
                    await writer.drain()
                    await asyncio.sleep(0.001)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def run(server: Server, work: Callable[[HttpClient], Awaitable[Result]], prefix: str = "") -> Result:
    async def go() -> Result:
        running = await asyncio.start_server(server.handle, "127.0.0.1")
        port = running.sockets[0].getsockname()[1]
        client = HttpClient(f"http://127.0.0.1:{port}{prefix}", ssl.create_default_context())
        async with running:
            try:
                return await work(client)
            finally:
                await client.close()

    return asyncio.run(go())


async def ask(client: HttpClient, seconds: float = 5.0) -> Response:
    return await client.request("PATCH", "/pods/web", {"Accept": "text/plain"}, b"{}", seconds)


async def twice(client: HttpClient) -> Response:
    assert await ask(client) == _FINE
    return await ask(client)


def test_a_request_has_its_headers_its_length_and_its_body() -> None:
    server = Server(_OK)
    assert run(server, ask, prefix="/clusters/c1/") == _FINE
    lines = server.requests[0].split(b"\r\n")
    assert lines[0] == b"PATCH /clusters/c1/pods/web HTTP/1.1"
    assert lines[1].startswith(b"Host: 127.0.0.1:")
    assert lines[2:] == [b"Accept: text/plain", b"Content-Length: 2", b"", b"{}"]


def test_what_is_no_part_of_a_path_is_escaped() -> None:
    server = Server(_OK)
    run(server, lambda client: client.request("POST", "/a b\r\nX: y?z", {}, b"", 5.0))
    assert server.requests[0].startswith(b"POST /a%20b%0D%0AX%3A%20y%3Fz HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        pytest.param(_OK.replace(b"ok", b"o|k"), _FINE, id="in two parts"),
        pytest.param(b"HTTP/1.1 2|00 OK\r\nContent-Length: 2\r\n\r\nok", _FINE, id="parted in the head"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + _OK, _FINE, id="after a hint"),
        pytest.param(
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nslo|\r\n1\r\nw\r\n0\r\n\r\n",
            Response(429, "Too Many Requests", {"retry-after": "3", "transfer-encoding": "chunked"}, b"slow"),
            id="in chunks",
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", Response(204, "No Content", {}, b""), id="no body"),
    ],
)
def test_answers_are_read_whole_and_the_connection_is_used_again(answer: bytes, response: Response) -> None:
    server = Server(answer, _OK)

    async def work(client: HttpClient) -> Response:
        assert await ask(client) == response
        return await ask(client)

    assert run(server, work) == _FINE
    assert server.connections == 1


def test_as_many_connections_as_requests_at_once() -> None:
    server = Server(*[_OK] * 6)

    async def work(client: HttpClient) -> None:
        for _ in range(2):
            await asyncio.gather(*(ask(client) for _ in range(3)))

    run(server, work)
    assert server.connections == 3


def test_a_server_that_wants_no_second_request_gets_none_on_that_connection() -> None:
    server = Server(_OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), _OK)

    async def work(client: HttpClient) -> Response:
        assert (await ask(client)).body == b"ok"
        return await ask(client)

    assert run(server, work) == _FINE
    assert server.connections == 2


@pytest.mark.parametrize("unasked", [b"", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"])
def test_a_connection_that_was_closed_while_nobody_used_it_is_not_used(unasked: bytes) -> None:
    server = Server(_OK, _OK)

    async def work(client: HttpClient) -> Response:
        await ask(client)
        server.writers[0].write(unasked)
        if not unasked:
            server.writers[0].close()
        await asyncio.sleep(0.05)
        return await ask(client)

    assert run(server, work) == _FINE
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer", [None, b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"]
)
def test_no_answer_is_an_error_and_the_next_request_has_a_connection_of_its_own(answer: bytes | None) -> None:
    server = Server(answer, _OK, _OK)

    async def work(client: HttpClient) -> Response:
        with pytest.raises((LostError, TimeoutError)):
            await ask(client, 0.2)
        return await twice(client)

    assert run(server, work) == _FINE
    assert server.connections == 2


@pytest.mark.parametrize("late", [b"", _OK.replace(b"ok", b"no")], ids=["never", "late"])
def test_an_answer_that_comes_too_late_is_not_taken_for_that_to_the_next_request(late: bytes) -> None:
    server = Server(b"", _OK, _OK)

    async def work(client: HttpClient) -> Response:
        with pytest.raises(TimeoutError):
            await ask(client, 0.05)
        server.writers[0].write(late)
        await asyncio.sleep(0.05)
        assert server.writers[0].is_closing(), "nobody waits for it any more"
        return await twice(client)

    assert run(server, work) == _FINE
    assert server.connections == 2
