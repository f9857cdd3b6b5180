"""Lists and watches of the API server as bytes.

The official client gives configuration, authentication and TLS; its models are not used. Every read has a
deadline, no request is repeated behind the caller's back, and `close` ends reads that are under way.
"""

import socket
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import Any

import urllib3

from tradewind.kube.access import credentials
from tradewind.kube.clock import ServerClock
from tradewind.kube.failures import api_errors, refusal
from tradewind.kube.official import ApiClient

# A TCP and TLS handshake takes a few round trips; a server that is gone should be noticed soon.
_CONNECT_SECONDS = 5.0


class Streams:
    """Reads of a resource of /api/v1, or of a whole path; usable from any thread."""

    def __init__(self, api: ApiClient) -> None:
        # A client of its own, because its connections are set up otherwise; the configuration is shared, so a
        # token that is refreshed there is used here.
        self._api = ApiClient(api.configuration)
        self.clock = ServerClock()
        self._api.default_headers.update(api.default_headers)
        self._connections = _Connections(self._api.rest_client.pool_manager)

    def page(self, resource: str, query: Mapping[str, Any], deadline_seconds: float) -> bytes:
        """A list, or one page of it; the deadline is for each byte of it."""
        with api_errors(), self._open(resource, query, deadline_seconds) as response:
            data: bytes = response.read()
            return data

    @contextmanager
    def watch(
        self, resource: str, query: Mapping[str, Any], deadline_seconds: float
    ) -> Iterator[Iterator[bytes]]:
        """The lines of a watch that the server has accepted, each an event, until the server ends it."""
        with api_errors(), self._open(resource, {**query, "watch": True}, deadline_seconds) as response:
            yield _lines(response.stream(amt=None))

    def close(self) -> None:
        self._connections.close()
        self._api.close()

    @contextmanager
    def _open(
        self, resource: str, query: Mapping[str, Any], deadline_seconds: float
    ) -> Iterator[urllib3.HTTPResponse]:
        # Not by the official client's CoreV1Api: its models take a second of processor time to import.
        configuration = self._api.configuration
        headers = {
            "Accept": "application/json",
            **self._api.default_headers,
            **credentials(configuration),
        }
        response: urllib3.HTTPResponse = self._api.rest_client.pool_manager.request(
            "GET",
            f"{configuration.host}{resource if resource.startswith('/') else f'/api/v1/{resource}'}",
            fields={_parameter(name): _text(value) for name, value in query.items()},
            headers=headers,
            timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=deadline_seconds),
            preload_content=False,
        )
        self.clock.note(response.headers.get("Date"))
        try:
            if response.status != HTTPStatus.OK:
                raise refusal(response.status, response.reason, response.read())
            yield response
        finally:
            # A response that was read to its end has given its connection back already; any other must not.
            response.close()


def _parameter(name: str) -> str:
    """As the API spells it: field_selector is fieldSelector there, _continue is continue."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Connections:
    """The open connections of a pool, so that another thread can end a read that waits for nothing."""

    def __init__(self, pools: urllib3.PoolManager) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        # A repeated request would multiply the deadline, and the caller backs off by itself.
        pools.connection_pool_kw["retries"] = False
        pools.pool_classes_by_scheme = {
            scheme: self._tracking(pool_class) for scheme, pool_class in pools.pool_classes_by_scheme.items()
        }

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for connection in self._open:
                _shut(connection)

    def _tracking(self, pool_class: Any) -> Any:
        connection_class = pool_class.ConnectionCls

        def connect(connection: Any) -> None:
            connection_class.connect(connection)
            self._opened(connection)

        tracked = type(connection_class.__name__, (connection_class,), {"connect": connect})
        return type(pool_class.__name__, (pool_class,), {"ConnectionCls": tracked})

    def _opened(self, connection: Any) -> None:
        with self._lock:
            self._open.add(connection)
            if self._closed:
                _shut(connection)


def _shut(connection: Any) -> None:
    """Let a blocked read return as if the server had closed the connection."""
    if isinstance(connection.sock, socket.socket):
        with suppress(OSError):  # where it is no longer connected
            # Not the method of a TLS socket: that would pull the decryption away from under the reader.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines only: what comes after the last line end was cut off."""
    parts: list[bytes] = []
    for chunk in chunks:
        head, *tails = chunk.split(b"\n")
        parts.append(head)
        for tail in tails:
            yield b"".join(parts)
            parts = [tail]
