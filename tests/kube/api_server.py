"""An API server for writes: answers as the test says, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer


class Asked(NamedTuple):
    method: str
    path: str
    body: Any
    headers: Mapping[str, str]
    query: Mapping[str, str] = {}


class Reply(NamedTuple):
    """`status` 0 breaks the connection; without a body the answer is a Status with the message."""

    status: int = 200
    message: str = ""
    headers: Mapping[str, str] = {}
    body: Any = None


Answering = Callable[[Asked], Awaitable[Reply]]


class ApiServer:
    def __init__(self, *replies: Reply) -> None:
        """The replies one after the other, then success."""
        self.asked: list[Asked] = []
        self.at_once = 0  # the most requests that were under way together
        self._under_way = 0
        self._replies = list(replies)
        self.url = ""

    async def answer(self, asked: Asked) -> Reply:
        """For a test to replace."""
        del asked
        return self._replies.pop(0) if self._replies else Reply()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._under_way += 1
        self.at_once = max(self.at_once, self._under_way)
        try:
            body = msgspec.json.decode(await request.read() or b"null")
            asked = Asked(request.method, request.path, body, request.headers, request.query)
            self.asked.append(asked)
            await asyncio.sleep(0)
            reply = await self.answer(asked)
        finally:
            self._under_way -= 1
        if not reply.status:
            assert request.transport
            request.transport.abort()
        said = reply.body or {"kind": "Status", "code": reply.status, "message": reply.message}
        return web.Response(body=msgspec.json.encode(said), status=reply.status or 500, headers=reply.headers)


@asynccontextmanager
async def serving(server: ApiServer) -> AsyncIterator[ApiServer]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server._handle)
    async with TestServer(app) as running:
        server.url = str(running.make_url("")).rstrip("/")
        yield server
