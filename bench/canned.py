"""A loopback API server without a cluster: lists of nodes and pods from memory, and a stream of changes.

The same bytes go to every client, and serving them costs next to nothing, so what is measured is the
client. Lists are paged by `limit` and `continue` as Kubernetes does it. A watch of pods brings pods that
come and go, one of nodes brings heartbeats: nine changes of pods for one of a node. Leases and ConfigMaps
can be created, read and replaced, one by one. All other resources are empty and silent.

`python -m bench.canned PORT NODES PODS EVENTS_A_SECOND` serves on that port of 127.0.0.1.
"""

import asyncio
import itertools
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import msgspec
import uvloop
import yaml

from bench import listing
from e2e.objects import Object
from e2e.processes import Workspace, free_port

_KINDS = {"nodes": "Node", "pods": "Pod"}
_KEPT = ("leases", "configmaps")
_SHARES = {"nodes": 0.1, "pods": 0.9}  # of the changes
_POD_LIFE = 100  # changes between a pod's coming and its going
_TICK_SECONDS = 0.02
_VERSION = 1_000_000  # of every list; changes count up from it
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"


class Canned:
    """What is listed, and what changes."""

    def __init__(self, nodes: int, pods: int, events_a_second: float) -> None:
        self._nodes = list(listing.nodes(nodes))
        names = [node["metadata"]["name"] for node in self._nodes]
        self._some_pods = list(listing.bound_pods(1_000, names))
        self._items = {
            "nodes": [msgspec.json.encode(node) for node in self._nodes],
            "pods": [msgspec.json.encode(pod) for pod in listing.bound_pods(pods, names)],
        }
        self._events_a_second = events_a_second
        self._kept: dict[str, bytes] = {}  # by path
        self._versions = itertools.count(1)

    def page(self, resource: str, query: Mapping[str, str]) -> bytes:
        items = self._items.get(resource, [])
        start = int(query.get("continue") or 0)
        end = start + int(query.get("limit") or len(items) or 1)
        metadata: Object = {"resourceVersion": str(_VERSION)}
        if end < len(items):
            metadata |= {"continue": str(end), "remainingItemCount": len(items) - end}
        head = msgspec.json.encode(
            {"kind": f"{_KINDS.get(resource, '')}List", "apiVersion": "v1", "metadata": metadata}
        )
        return b'%b,"items":[%b]}' % (head[:-1], b",".join(items[start:end]))

    async def changes(self, resource: str, seconds: float) -> AsyncIterator[bytes]:
        """Lines in groups, a few each tick, until the time is over."""
        rate = self._events_a_second * _SHARES.get(resource, 0.0)
        events = self._events(resource)
        started = time.monotonic()
        sent = 0
        while (elapsed := time.monotonic() - started) < seconds:
            due = int(elapsed * rate) - sent
            if due:
                yield b"".join(itertools.islice(events, due))
                sent += due
            await asyncio.sleep(_TICK_SECONDS)

    def _events(self, resource: str) -> Iterator[bytes]:
        changes = self._node_changes() if resource == "nodes" else self._pod_changes()
        for version, (kind, obj) in enumerate(changes, _VERSION + 1):
            metadata = obj["metadata"] | {"resourceVersion": str(version)}
            whole = {"kind": _KINDS[resource], "apiVersion": "v1"} | obj | {"metadata": metadata}
            yield msgspec.json.encode({"type": kind, "object": whole}) + b"\n"

    def _node_changes(self) -> Iterator[tuple[str, Object]]:
        for node in itertools.cycle(self._nodes):
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            conditions = [each | {"lastHeartbeatTime": now} for each in node["status"]["conditions"]]
            yield "MODIFIED", node | {"status": node["status"] | {"conditions": conditions}}

    def _pod_changes(self) -> Iterator[tuple[str, Object]]:
        living: deque[Object] = deque()
        for number, pod in enumerate(itertools.cycle(self._some_pods)):
            name = f"coming-{number}"
            living.append(pod | {"metadata": pod["metadata"] | {"name": name, "uid": name}})
            yield "ADDED", living[-1]
            if len(living) > _POD_LIFE:
                yield "DELETED", living.popleft()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = urlsplit(head.split(b" ", 2)[1].decode())
                length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0] or 0)
                body = await reader.readexactly(length)
                *_, kind, name = target.path.split("/")
                if kind in _KEPT or body:
                    self._answer_kept(target.path, body, writer)
                else:
                    await self._answer(name, dict(parse_qsl(target.query)), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _answer_kept(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        """One object, read or written."""
        if body:
            obj = msgspec.json.decode(body)
            name, version = obj["metadata"]["name"], str(next(self._versions))
            path = path if path.endswith(f"/{name}") else f"{path}/{name}"
            self._kept[path] = msgspec.json.encode(
                obj | {"metadata": obj["metadata"] | {"resourceVersion": version}}
            )
        found = self._kept.get(path)
        writer.write(_MISSING if found is None else _packed(found))

    async def _answer(self, resource: str, query: Mapping[str, str], writer: asyncio.StreamWriter) -> None:
        if query.get("watch", "").lower() != "true":
            writer.write(_packed(self.page(resource, query)))
            await writer.drain()
            return
        writer.write(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        async for lines in self.changes(resource, float(query.get("timeoutSeconds", "3600"))):
            writer.write(b"%x\r\n%b\r\n" % (len(lines), lines))
            await writer.drain()
        writer.write(b"0\r\n\r\n")


def _packed(body: bytes) -> bytes:
    return b"%bContent-Length: %d\r\n\r\n%b" % (_HEAD, len(body), body)


@dataclass(frozen=True, kw_only=True)
class CannedCluster:
    url: str
    kubeconfig: Path
    workspace: Workspace  # for whoever is to work with that cluster


@contextmanager
def running(nodes: int, pods: int, events_a_second: int) -> Iterator[CannedCluster]:
    """In a process of its own."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with Workspace() as workspace:
        sizes = [str(size) for size in (nodes, pods, events_a_second)]
        server = workspace.start("canned", [sys.executable, "-m", "bench.canned", str(port), *sizes], url)
        server.wait_healthy(f"{url}/api/v1/namespaces")
        kubeconfig = workspace.directory / "canned.kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(_kubeconfig(url)))
        yield CannedCluster(url=url, kubeconfig=kubeconfig, workspace=workspace)


def _kubeconfig(url: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "canned", "cluster": {"server": url}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "canned", "context": {"cluster": "canned", "user": "nobody"}}],
        "current-context": "canned",
    }


async def _serve(port: int, canned: Canned) -> None:
    server = await asyncio.start_server(canned.serve, "127.0.0.1", port)
    await server.serve_forever()


def main(arguments: Sequence[str]) -> None:
    port, nodes, pods, events_a_second = (int(word) for word in arguments)
    uvloop.run(_serve(port, Canned(nodes, pods, events_a_second)))


if __name__ == "__main__":
    main(sys.argv[1:])
