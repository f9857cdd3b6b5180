"""Who may look: in front of any application for people, apart from what it shows.

On loopback, whoever may open a connection may look: a shell on the machine, or `kubectl port-forward`, which
the API server has allowed. On the network a caller shows a bearer token, and the API server says whose it is
and whether its owner may get the path that stands for the whole port.
"""

import asyncio
import hashlib
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from cachetools import TTLCache
from prometheus_client import Counter as CounterMetric
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tradewind.errors import ApiError
from tradewind.kube.reviews import User

_VERDICT_SECONDS = 10.0  # a role that is taken away, or given, counts after this at the latest
_MAX_VERDICTS = 1024
# Bad tokens from one address in a second; more would keep the API server busy. Many people may share an
# address, so it is not refused for longer, and a token that was good is not refused with it.
_MAX_TRIES = 10
_TRIES_SECONDS = 1.0
_ADMITTED_SECONDS = 3600.0
_MAX_TOKEN = 16_384
_HOST = re.compile(r"(\[[0-9a-f:]+\]|[^:]+)(?::\d+)?")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

_log = logging.getLogger(__name__)


class Reviewer(Protocol):
    """As `tradewind.kube.reviews.Reviews`."""

    def user_of(self, token: str) -> User | None: ...

    def may_get(self, user: User, path: str) -> bool: ...


@dataclass(frozen=True)
class _Verdict:
    status: HTTPStatus
    detail: str = ""
    outcome: str = "allowed"

    @property
    def headers(self) -> dict[str, str]:
        if self.status == HTTPStatus.UNAUTHORIZED:
            return {"WWW-Authenticate": "Bearer"}
        if self.status == HTTPStatus.TOO_MANY_REQUESTS:
            return {"Retry-After": f"{_TRIES_SECONDS:.0f}"}
        return {"Allow": "GET, HEAD"} if self.status == HTTPStatus.METHOD_NOT_ALLOWED else {}


_ALLOWED = _Verdict(HTTPStatus.OK)
_NO_TOKEN = _Verdict(
    HTTPStatus.UNAUTHORIZED, "a bearer token of this cluster is needed here", "unauthenticated"
)
_BAD_TOKEN = _Verdict(HTTPStatus.UNAUTHORIZED, "the API server does not know this token", "unauthenticated")
_THROTTLED = _Verdict(
    HTTPStatus.TOO_MANY_REQUESTS, "too many bad tokens from this address; retry in a second", "throttled"
)
_READ_ONLY = _Verdict(HTTPStatus.METHOD_NOT_ALLOWED, "there is nothing to change here", "method")
_ELSEWHERE = _Verdict(HTTPStatus.FORBIDDEN, "asked by a name that is not this machine's own", "host")


class LoopbackGuard:
    """Read only, and for callers who know that they ask this machine.

    A web page in a browser on it could reach loopback under a name of its own (DNS rebinding) and read the
    answers; the browser then says that name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        verdict = _readonly(scope)
        if verdict is _ALLOWED and _host(scope) not in _LOOPBACK_NAMES:
            verdict = _ELSEWHERE
        await _go_on(self._app, verdict, scope, receive, send)


class TokenGuard:
    """Read only, and for those whom the API server lets get `path`.

    A verdict is kept for some seconds, and requests with the same token wait for the same review. Of one
    address, some unknown tokens a second are reviewed. If the API server does not say, nobody is let in.
    """

    def __init__(
        self,
        app: ASGIApp,
        reviewer: Reviewer,
        path: str,
        requests: CounterMetric,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._reviewer = reviewer
        self._path = path
        self._requests = requests
        self._verdicts: TTLCache[bytes, _Verdict] = TTLCache(_MAX_VERDICTS, _VERDICT_SECONDS, clock)
        self._clock = clock
        self._tries = Counter[str]()  # by address, since
        self._tries_start = -math.inf
        self._admitted: TTLCache[bytes, None] = TTLCache(_MAX_VERDICTS, _ADMITTED_SECONDS, clock)
        self._under_way: dict[bytes, asyncio.Task[_Verdict]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        verdict = _readonly(scope)
        if verdict is _ALLOWED:
            verdict = await self._verdict(scope)
        self._requests.labels(verdict.outcome).inc()
        await _go_on(self._app, verdict, scope, receive, send)

    async def _verdict(self, scope: Scope) -> _Verdict:
        token = _bearer_token(scope)
        if not token:
            return _NO_TOKEN
        key = hashlib.sha256(token.encode("latin-1")).digest()  # the caches hold no token
        known = self._verdicts.get(key)
        if known is not None:
            return known
        task = self._under_way.get(key)
        if task is None:
            address = scope["client"][0] if scope.get("client") else ""
            if self._clock() - self._tries_start >= _TRIES_SECONDS:
                self._tries.clear()
                self._tries_start = self._clock()
            if key not in self._admitted and self._tries[address] >= _MAX_TRIES:
                return _THROTTLED
            self._tries[address] += 1  # before it is known: many at once must not all go through
            task = asyncio.create_task(self._review(key, token, address))
            self._under_way[key] = task
        return await asyncio.shield(task)  # a caller who hangs up does not end it for the others

    async def _review(self, key: bytes, token: str, address: str) -> _Verdict:
        try:
            verdict = await asyncio.to_thread(self._ask, token)
            self._verdicts[key] = verdict
            if verdict is _ALLOWED:
                self._admitted[key] = None
        except ApiError as error:
            _log.warning("nobody can be let in to %s: %s", self._path, error)
            verdict = _Verdict(HTTPStatus.SERVICE_UNAVAILABLE, f"not reviewed: {error}", "unavailable")
        finally:
            del self._under_way[key]
        if verdict.status in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}:
            self._tries[address] = max(0, self._tries[address] - 1)
        else:
            _log.info("%s was refused %s: %s", address, self._path, verdict.detail)
        return verdict

    def _ask(self, token: str) -> _Verdict:
        user = self._reviewer.user_of(token)
        if user is None:
            return _BAD_TOKEN
        if not self._reviewer.may_get(user, self._path):
            detail = f"no role lets {user.username} get {self._path}"
            return _Verdict(HTTPStatus.FORBIDDEN, detail, "forbidden")
        return _ALLOWED


def _readonly(scope: Scope) -> _Verdict:
    return _ALLOWED if scope.get("method") in {"GET", "HEAD"} else _READ_ONLY


def _host(scope: Scope) -> str:
    """Without the port."""
    found = _HOST.fullmatch(_header(scope, b"host").lower())
    return found[1] if found else ""


def _bearer_token(scope: Scope) -> str:
    kind, _, token = _header(scope, b"authorization").partition(" ")
    token = token.strip()
    return token if kind.lower() == "bearer" and len(token) <= _MAX_TOKEN else ""


def _header(scope: Scope, name: bytes) -> str:
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return next((value for key, value in headers if key == name), b"").decode("latin-1")


async def _go_on(app: ASGIApp, verdict: _Verdict, scope: Scope, receive: Receive, send: Send) -> None:
    if verdict.status != HTTPStatus.OK:
        refusal = JSONResponse({"detail": verdict.detail}, verdict.status, verdict.headers)
        await refusal(scope, receive, send)
        return
    await app(scope, receive, send)
