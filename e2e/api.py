"""A Kubernetes client for tests: plain dicts in and out, many requests at once over kept-alive connections.

The official client's models would hide what is on the wire, and cost ten times the request itself.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import urllib3

from e2e.kubeconfig import Kubeconfig
from e2e.objects import Object

MERGE_PATCH = "application/merge-patch+json"
_JSON = "application/json"
# Only "too many requests" is tried again; anything else is an outcome that the test must see.
_RETRY = urllib3.Retry(
    connect=0, read=0, redirect=0, other=0, status=5, status_forcelist=[429], allowed_methods=None
)


class ApiError(Exception):
    """The API server refused a request."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path} gave {status}: {message}")
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a watch reports. SYNCED, without an object, follows the objects that were there at the start."""

    type: str
    object: Object


class Api:
    """One user's access to one API server; safe to use from several threads."""

    def __init__(self, kubeconfig: Path, connections: int = 16) -> None:
        config = Kubeconfig.read(kubeconfig)
        token = {"Authorization": f"Bearer {config.token}"} if config.token else {}
        self._server = config.server
        self._connections = connections
        self._pool = urllib3.PoolManager(
            maxsize=connections,
            block=False,
            ssl_context=config.ssl_context(),
            headers={"User-Agent": "tradewind-e2e", **token},
            retries=_RETRY,
        )

    def close(self) -> None:
        self._pool.clear()

    def create(self, obj: Object) -> Object:
        return self.request("POST", collection(obj), obj)

    def create_all(self, objects: Iterable[Object]) -> list[Object]:
        return self.concurrently("POST", ((collection(obj), obj) for obj in objects))

    def concurrently(
        self, method: str, requests: Iterable[tuple[str, Object | None]], content_type: str = _JSON
    ) -> list[Object]:
        """Sends all requests, as many at a time as there are connections; answers in the same order."""
        with ThreadPoolExecutor(self._connections) as threads:
            return list(
                threads.map(lambda call: self.request(method, *call, content_type=content_type), requests)
            )

    def read(self, path: str, **query: str) -> Object:
        return self.request("GET", path, query=query)

    def patch(self, path: str, patch: Object) -> Object:
        return self.request("PATCH", path, patch, content_type=MERGE_PATCH)

    def delete(self, path: str, **query: str) -> Object:
        """`gracePeriodSeconds="0"` is needed for a bound pod: no kubelet will ever confirm its end."""
        return self.request("DELETE", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content_type: str = _JSON,
        query: Mapping[str, str] | None = None,
    ) -> Object:
        response = self._pool.request(
            method,
            self._url(path, query),
            body=None if body is None else msgspec.json.encode(body),
            headers={**self._pool.headers, "Content-Type": content_type},
            timeout=60.0,
        )
        if response.status >= 400:
            raise ApiError(method, path, response.status, _message(response.data))
        return _object(response.data)

    def changes(self, path: str, seconds: float, **query: str) -> Iterator[Change]:
        """What is in the collection, then SYNCED, then each change, until the time is over."""
        deadline = time.monotonic() + seconds
        listed = self.read(path, **query)
        yield from (Change(type="ADDED", object=item) for item in listed.get("items") or ())
        yield Change(type="SYNCED", object={})
        version = listed["metadata"]["resourceVersion"]
        while (remaining := deadline - time.monotonic()) > 0:
            for change in self._watch(path, remaining, {**query, "resourceVersion": version}):
                version = change.object["metadata"]["resourceVersion"]
                if change.type != "BOOKMARK":
                    yield change

    def _watch(self, path: str, seconds: float, query: Mapping[str, str]) -> Iterator[Change]:
        """Ends when the time is over, by the server's clock or else by ours."""
        asked = {
            "watch": "true",
            "timeoutSeconds": str(max(1, round(seconds))),
            "allowWatchBookmarks": "true",
        }
        response = self._pool.request(
            "GET", self._url(path, {**query, **asked}), preload_content=False, timeout=seconds + 5.0
        )
        try:
            if response.status >= 400:
                raise ApiError("WATCH", path, response.status, _message(response.read()))
            yield from _changes(path, response.stream())
        except urllib3.exceptions.ReadTimeoutError:
            return
        finally:
            response.close()

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        return f"{self._server}{path}?{urlencode(query)}" if query else f"{self._server}{path}"


def _changes(path: str, chunks: Iterable[bytes]) -> Iterator[Change]:
    for line in _lines(chunks):
        change = msgspec.json.decode(line, type=Change)
        if change.type == "ERROR":
            raise ApiError("WATCH", path, change.object.get("code", 0), change.object.get("message", ""))
        yield change


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines


def _object(data: bytes) -> Object:
    decoded: Object = msgspec.json.decode(data)
    return decoded


def _message(data: bytes) -> str:
    try:
        said: Any = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return data[:500].decode(errors="replace")
    return str(said.get("message", said))


def collection(obj: Object) -> str:
    """The path to POST the object to: `/apis/apps/v1/namespaces/shop/deployments`."""
    version = obj["apiVersion"]
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = obj["metadata"].get("namespace")
    return (
        f"{prefix}/namespaces/{namespace}/{_plural(obj['kind'])}"
        if namespace
        else f"{prefix}/{_plural(obj['kind'])}"
    )


def path(obj: Object) -> str:
    return f"{collection(obj)}/{obj['metadata']['name']}"


def _plural(kind: str) -> str:
    name = kind.lower()
    if name.endswith("y") and name[-2] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"
