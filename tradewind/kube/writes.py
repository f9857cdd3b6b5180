"""Many small writes to the API server at once, over few connections that stay open.

The official client gives configuration and credentials; its requests, one a thread, cost more than the API
server's part. The API server alone sets the pace: what it asks to be repeated later is repeated later, and
there is no rate limit of our own.
"""

import asyncio
import itertools
import logging
import random
import ssl
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol, Self

import aiohttp
import msgspec
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.rest import should_bypass_proxies
from kubernetes.config import ConfigException

from tradewind.kube.client import MERGE_PATCH, USER_AGENT
from tradewind.kube.failures import Status
from tradewind.kube.http_client import HttpClient, Response

# Of the object that a write leaves behind nothing is read: its metadata are the least that can be asked for.
# It saves bytes only: the API server's own time was the same for whole pods, and for protobuf.
_ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_TRIES = 6
_TRY_SECONDS = 10.0
_FIRST_DELAY_SECONDS = 0.1
_MOST_DELAY_SECONDS = 10.0
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
_status_decoder = msgspec.json.Decoder(Status)


class Answer(NamedTuple):
    """A refusal is an answer like any other: what it means is for the caller to say."""

    status: int  # 0 where there was none
    message: str = ""  # of a refusal

    def __str__(self) -> str:
        return f"{self.status or 'no answer'}: {self.message}" if self.message else str(self.status)

    @property
    def ok(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


class _Client(Protocol):
    async def request(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes, seconds: float
    ) -> Response: ...

    async def close(self) -> None: ...


class _ByProxy:
    """By a library that knows all kinds of proxies, at several times the processor time."""

    def __init__(self, configuration: Configuration, proxy: str, concurrency: int) -> None:
        self._server = configuration.host
        self._named = configuration.tls_server_name
        connector = aiohttp.TCPConnector(limit=concurrency, ssl=_tls(configuration))
        self._session = aiohttp.ClientSession(
            connector=connector, proxy=proxy, cookie_jar=aiohttp.DummyCookieJar()
        )

    async def request(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes, seconds: float
    ) -> Response:
        timeout, url = aiohttp.ClientTimeout(total=seconds), f"{self._server}{path}"
        async with self._session.request(
            method, url, data=data, headers=headers, timeout=timeout, server_hostname=self._named
        ) as response:
            said = {name.lower(): value for name, value in response.headers.items()}
            return Response(response.status, str(response.reason), said, await response.read())

    async def close(self) -> None:
        await self._session.close()


class ApiWrites:
    """Open between `async with` and its end, in one event loop.

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
        known = self._configuration
        self._client: _Client = (
            _ByProxy(known, proxy, self.concurrency)
            if (proxy := _proxy(known))
            else HttpClient(known.host, _tls(known), known.tls_server_name)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def patch(self, path: str, patch: Any, content_type: str = MERGE_PATCH) -> Answer:
        return await self._write("PATCH", path, patch, content_type)

    async def create(self, path: str, body: Any) -> Answer:
        return await self._write("POST", path, body, "application/json")

    async def _write(self, method: str, path: str, body: Any, content_type: str) -> Answer:
        data = _encoder.encode(body)
        async with self._places:
            for number in itertools.count(1):
                if not self._permitted():
                    return Answer(0, "no longer permitted to write")
                answer, pause = await self._attempt(method, path, data, content_type)
                if pause is None or number == _TRIES:
                    return answer
                _log.debug("%s %s: %s; again in at least %.1f s", method, path, answer, pause)
                await _wait(max(pause, _delay(number)))
        raise AssertionError  # it counts for ever

    async def _attempt(
        self, method: str, path: str, data: bytes, content_type: str
    ) -> tuple[Answer, float | None]:
        """The answer, and after how many seconds to try again at the earliest, if that may help."""
        try:
            headers = {**_HEADERS, "Content-Type": content_type, **await self._authorization()}
            response = await self._client.request(method, path, headers, data, _TRY_SECONDS)
        except ConfigException as error:
            return Answer(0, f"the credentials cannot be renewed: {error}"), 0.0
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Answer(0, str(error) or type(error).__name__), 0.0
        answer = Answer(response.status, _refusal(response))
        if answer.status == HTTPStatus.UNAUTHORIZED and self._credentials_until:
            self._credentials_until = 0.0  # a token that was replaced earlier than it said
            return answer, 0.0
        return answer, _retry_after(response) if answer.status in _BUSY else None

    async def _authorization(self) -> dict[str, str]:
        if time.monotonic() >= self._credentials_until:
            async with self._renewing:
                if time.monotonic() >= self._credentials_until:
                    self._credentials = await asyncio.to_thread(_credentials, self._configuration)
                    self._credentials_until = time.monotonic() + _CREDENTIALS_SECONDS
        return self._credentials


def _credentials(configuration: Configuration) -> dict[str, str]:
    """Renews them on the way, if they need it."""
    return {setting["key"]: setting["value"].strip() for setting in configuration.auth_settings().values()}


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


def _refusal(response: Response) -> str:
    """Empty for a success, whose body nobody reads."""
    if response.status < HTTPStatus.BAD_REQUEST:
        return ""
    try:
        return _status_decoder.decode(response.body).message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return response.reason


def _retry_after(response: Response) -> float:
    """Whole seconds, as the API server writes it; a date, which proxies may write, counts as nothing said."""
    said = response.headers.get("retry-after", "")
    return min(float(said), _MOST_DELAY_SECONDS) if said.isdecimal() else 0.0


async def _wait(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _delay(number: int) -> float:
    whole = min(_FIRST_DELAY_SECONDS * 2.0 ** (number - 1), _MOST_DELAY_SECONDS)
    return whole * random.uniform(0.5, 1)  # noqa: S311  no secret
