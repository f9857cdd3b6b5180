"""Requests to one HTTP server, over connections that stay open: no redirects, no proxies, no cookies.

The layers of a client library take several times the processor time of the bytes themselves, and a burst of
pods is thousands of writes.
"""

import asyncio
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, cast
from urllib.parse import quote, urlsplit

import httptools


class Response(NamedTuple):
    status: int
    reason: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class LostError(OSError):
    """The server ended the connection, or answered with something that is no HTTP."""


class _Connection(asyncio.Protocol):
    """Good for one request at a time, as long as it is `open`."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[Response] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by their type

    @property
    def open(self) -> bool:
        return not self._transport.is_closing()

    async def ask(self, request: bytes) -> Response:
        """Whoever gives up waiting has to `close` it: the answer may still come."""
        if not self.open:
            raise LostError("the connection is closed")
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = None

    def close(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nothing was asked: whatever it is, it is no answer
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.close()
            self._fail(f"the answer is no HTTP: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc else "the server closed the connection")

    def _fail(self, text: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(LostError(text))

    # What the parser calls, in this order.

    def on_message_begin(self) -> None:
        self._headers: dict[str, str] = {}
        self._reason = b""
        self._body: list[bytes] = []

    def on_status(self, status: bytes) -> None:
        self._reason += status

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK or self._answer is None or self._answer.done():
            return
        if not self._parser.should_keep_alive():
            self.close()
        body = b"".join(self._body)
        self._answer.set_result(Response(status, self._reason.decode("latin-1"), self._headers, body))


class HttpClient:
    """As many connections as there are requests at once; the one that was used last is used first."""

    def __init__(self, url: str, tls: ssl.SSLContext, server_name: str | None = None) -> None:
        """`server_name` is what the certificate is for, where that is not the host."""
        parts = urlsplit(url)
        self._tls = tls if parts.scheme == "https" else None
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._named = (server_name or self._host) if self._tls else None
        self._authority = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._idle: list[_Connection] = []

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes, seconds: float
    ) -> Response:
        """Raise OSError where there is no answer, TimeoutError where there is none within so many seconds."""
        lines = [
            f"{method} {quote(self._prefix + path)} HTTP/1.1",
            f"Host: {self._authority}",
            *[f"{name}: {value}" for name, value in headers.items()],
            f"Content-Length: {len(data)}\r\n\r\n",
        ]
        async with asyncio.timeout(seconds):
            connection = await self._connection()
            try:
                response = await connection.ask("\r\n".join(lines).encode("latin-1") + data)
            except BaseException:
                connection.close()  # its answer may still come
                raise
        self._idle.append(connection)
        return response

    async def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            _Connection, self._host, self._port, ssl=self._tls, server_hostname=self._named
        )
        return connection
