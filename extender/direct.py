"""HTTP for kube-scheduler: a plain request is answered as soon as its last byte is here.

uvicorn makes a task, a scope and four messages of every request, which takes longer than most answers. So
what kube-scheduler sends is taken out of the stream before it: a POST with a length, of headers that change
nothing, on a connection where nothing else is under way. All other bytes, and a plain request that turns out
to be none, go uvicorn's way from the first one.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from extender.app import App
from extender.uploads import READ_SECONDS, Uploads
from extender.verb import Answer

_HARMLESS = rb"(?:(?i:host|user-agent|accept|accept-encoding|content-type): [!-~][ -~]*\r\n)*"
_LENGTH = rb"(?i:content-length): ([0-9]{1,9})\r\n"
_PLAIN_HEAD = re.compile(rb"POST (/[a-z]+) HTTP/1\.1\r\n" + _HARMLESS + _LENGTH + _HARMLESS + rb"\r\n")


class DirectProtocol(HttpToolsProtocol):
    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        app = config.app
        self._endpoints = app.posts if isinstance(app, App) else {}
        self._uploads = app.uploads if isinstance(app, App) else Uploads()
        self._parsing = False  # uvicorn has the beginning of a request and not its end
        self._received: list[bytes] = []  # of a plain request
        self._missing = 0  # bytes of it
        self._held = 0  # bytes of it that count as an upload
        self._deadline: asyncio.TimerHandle | None = None
        self._at_once: Callable[[bytes], Answer]
        self._body_start = 0

    def data_received(self, data: bytes) -> None:
        if self._received:
            self._received.append(data)
            self._missing -= len(data)
        elif not self._begins_plain_request(data):
            super().data_received(data)
            return
        if self._missing == 0:
            self._answer(self._at_once)
        elif self._missing < 0:  # the next request is here already
            self._hand_over()
        else:
            self._hold(len(data))

    def on_message_begin(self) -> None:
        self._parsing = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._parsing = False
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._release()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """A request of which some is here is still answered: uvicorn sees to that."""
        if self._received:
            self._hand_over()
        super().shutdown()

    def _begins_plain_request(self, data: bytes) -> bool:
        if not self._endpoints or self._parsing or self.flow.write_paused:
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        head = _PLAIN_HEAD.match(data)
        endpoint = self._endpoints.get(head[1].decode()) if head else None
        if head is None or endpoint is None or endpoint.at_once is None:
            return False
        if int(head[2]) > endpoint.max_body_bytes:
            return False
        self._unset_keepalive_if_required()
        self._at_once = endpoint.at_once
        self._body_start = head.end()
        self._received = [data]
        self._missing = self._body_start + int(head[2]) - len(data)
        return True

    def _answer(self, at_once: Callable[[bytes], Answer]) -> None:
        self._release()
        request = b"".join(self._received)
        try:
            answer = at_once(request[self._body_start :])
        except Exception:  # noqa: BLE001  it comes again on uvicorn's way, which waits, or says what is wrong
            self._hand_over()
            return
        self._received = []
        lines = [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        length = b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(answer.body)
        self.transport.write(b"".join((STATUS_LINE[answer.status], *lines, length, answer.body)))
        self.on_response_complete()

    def _hold(self, size: int) -> None:
        """Wait for the rest, unless others have left too much unfinished."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(READ_SECONDS, self._give_up)
        if self._uploads.take(size):
            self._held += size
        else:
            self._give_up()

    def _give_up(self) -> None:
        """kube-scheduler reads a closed connection as a failure of ours, and goes on without us."""
        self._received, self._missing = [], 0
        self._release()
        self.transport.close()

    def _release(self) -> None:
        self._uploads.release(self._held)
        self._held = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hand_over(self) -> None:
        self._release()
        received, self._received, self._missing = self._received, [], 0
        super().data_received(b"".join(received))
