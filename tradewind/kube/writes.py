"""Many small writes to the API server at once, over few connections that stay open.

The official client gives configuration and credentials; its requests, one a thread, cost more than the API
server's part. The API server alone sets the pace: what it asks to be repeated later is repeated later, and
there is no rate limit of our own.
"""

import asyncio
import itertools
import logging
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple, Self

import aiohttp
import msgspec

from tradewind.errors import ApiError
from tradewind.kube.access import credentials
from tradewind.kube.backoff import Backoff
from tradewind.kube.client import MERGE_PATCH, USER_AGENT
from tradewind.kube.failures import api_errors, refusal
from tradewind.kube.official import ApiClient, Configuration, should_bypass_proxies

# Of the object that a write leaves behind nothing is read: its metadata are the least that can be asked for.
# It saves bytes only: the API server's own time was the same for whole pods, and for protobuf.
_ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_TRIES = 6
_TRY_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.1
_MAX_DELAY_SECONDS = 10.0
# Renewing credentials may start a program, and reading them takes a file: not for every write.
_CREDENTIALS_SECONDS = 10.0
_HEADERS = {"User-Agent": USER_AGENT, "Accept": _ACCEPT}
_BUSY = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)

_log = logging.getLogger(__name__)
_encoder = msgspec.json.Encoder()


class _Failure(NamedTuple):
    error: ApiError
    retry_after: float | None = None  # seconds, at the least; None: another try would not help


class ApiWrites:
    """Open between `async with` and its end, in one event loop; raises ApiError for a write that failed.

    A write that got no answer is sent again, so only writes that may happen twice belong here. `permitted` is
    asked before each try: whoever waited for an answer may no longer be the one who is to write.
    """

    def __init__(
        self, api: ApiClient, concurrency: int = 16, permitted: Callable[[], bool] = lambda: True
    ) -> None:
        self._configuration: Configuration = api.configuration
        self.concurrency = concurrency
        self._permitted = permitted
        self._credentials: dict[str, str] = {}
        self._credentials_until = 0.0
        self._renewing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._places = asyncio.Semaphore(self.concurrency)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self.concurrency, ssl=_tls(self._configuration)),
            proxy=_proxy(self._configuration),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=_TRY_SECONDS),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH) -> bytes:
        """The metadata of what it leaves behind."""
        return await self._write("PATCH", path, patch, content_type)

    async def create(self, path: str, body: Any) -> bytes:
        return await self._write("POST", path, body, "application/json")

    async def _write(self, method: str, path: str, body: Any, content_type: str) -> bytes:
        data = _encoder.encode(body)
        backoff = Backoff(_FIRST_DELAY_SECONDS, _MAX_DELAY_SECONDS)
        async with self._places:
            for left in itertools.count(_TRIES - 1, -1):
                if not self._permitted():
                    raise ApiError("no longer permitted to write")
                failure = await self._attempt(method, path, data, content_type)
                if isinstance(failure, bytes):
                    return failure
                if failure.retry_after is None or not left:
                    raise failure.error
                pause = max(failure.retry_after, backoff.next())
                _log.debug("%s %s: %s; retrying in %.1f s", method, path, failure.error, pause)
                await _wait(pause)
        raise AssertionError  # the last try returns or raises

    async def _attempt(self, method: str, path: str, data: bytes, content_type: str) -> _Failure | bytes:
        try:
            with api_errors(aiohttp.ClientError):
                headers = {**_HEADERS, "Content-Type": content_type, **await self._authorization()}
                async with self._session.request(
                    method,
                    f"{self._configuration.host}{path}",
                    data=data,
                    headers=headers,
                    allow_redirects=False,
                    server_hostname=self._configuration.tls_server_name,
                ) as response:
                    body = await response.read()
        except ApiError as error:
            return _Failure(error, 0.0)
        if HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            return body
        refused = refusal(response.status, response.reason, body)
        if refused.status == HTTPStatus.UNAUTHORIZED and self._credentials_until:
            self._credentials_until = 0.0  # a token that was replaced earlier than it said
            return _Failure(refused, 0.0)
        return _Failure(refused, _retry_after(response) if refused.status in _BUSY else None)

    async def _authorization(self) -> dict[str, str]:
        if time.monotonic() >= self._credentials_until:
            async with self._renewing:
                if time.monotonic() >= self._credentials_until:
                    self._credentials = await asyncio.to_thread(credentials, self._configuration)
                    self._credentials_until = time.monotonic() + _CREDENTIALS_SECONDS
        return self._credentials


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cafile=configuration.ssl_ca_cert, cadata=getattr(configuration, "ca_cert_data", None)
    )
    if configuration.assert_hostname is False or not configuration.verify_ssl:
        context.check_hostname = False
    if not configuration.verify_ssl:
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _proxy(configuration: Configuration) -> str | None:
    proxy: str | None = configuration.proxy
    return None if should_bypass_proxies(configuration.host, configuration.no_proxy or "") else proxy


def _retry_after(response: aiohttp.ClientResponse) -> float:
    """Whole seconds, as the API server writes it; a date, which proxies may write, counts as nothing said."""
    said = response.headers.get("Retry-After", "")
    return min(float(said), _MAX_DELAY_SECONDS) if said.isdecimal() else 0.0


async def _wait(seconds: float) -> None:
    await asyncio.sleep(seconds)
