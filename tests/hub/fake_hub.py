"""An API server in memory: objects have versions, and a write that is stale is refused."""

import asyncio
import json
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from tradewind.errors import ConflictError, NotFoundError
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Site
from tradewind.fleet.summary import Summary, encode
from tradewind.hub.binding_writer import BindingWriter
from tradewind.hub.homes import HomeView
from tradewind.hub.ledger_store import LedgerStore
from tradewind.hub.metrics import FleetMetrics
from tradewind.hub.records import FLEET_LABEL, SITE_ANNOTATION, Member, binding_of, note_of
from tradewind.hub.scheduler import FleetScheduler
from tradewind.hub.state import FleetState
from tradewind.hub.wire import BindingObject, ConfigMapObject

NAMESPACE = "tradewind-system"
_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


class FakeHub:
    """Also what the hub's `Client` and `ApiWrites` are to those who use them."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self._version = 0
        self.refused = 0

    async def patch(self, path: str, patch: dict[str, Any], content_type: str = "") -> bytes:
        del content_type
        await asyncio.sleep(0)
        where = path.removesuffix("/status")
        if where not in self.objects:
            raise NotFoundError(path, 404)
        before = self.objects[where]
        if patch["metadata"].get("resourceVersion", "") not in {"", before["metadata"]["resourceVersion"]}:
            self.refused += 1
            raise ConflictError(path, 409)
        changed = _merged(before, patch)
        if where == path and "spec" in patch:
            changed["metadata"]["generation"] += 1
        return self._put(where, changed)

    async def create(self, path: str, body: dict[str, Any]) -> bytes:
        await asyncio.sleep(0)
        where = f"{path}/{body['metadata']['name']}"
        if where in self.objects:
            self.refused += 1
            raise ConflictError(path, 409)
        return self._put(where, body)

    def get(self, path: str) -> bytes:
        if path not in self.objects:
            raise NotFoundError(path, 404)
        return msgspec.json.encode(self.objects[path])

    def add_binding(self, name: str, replicas: int, *, namespace: str = "shop", **spec: Any) -> None:
        body = {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "generation": 1},
            "spec": {
                "resource": {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "namespace": namespace,
                    "name": name,
                },
                "replicas": replicas,
                "replicaRequirements": {"resourceRequest": {"cpu": "1", "memory": "1Gi"}},
                "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
                "schedulerName": "tradewind",
                **spec,
            },
            "status": {},
        }
        self._put(f"/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings/{name}", body)

    def binding(self, name: str, namespace: str = "shop") -> dict[str, Any]:
        return self.objects[f"/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings/{name}"]

    def touch_binding(self, name: str, namespace: str = "shop") -> None:
        """A new version of what is there."""
        where = f"/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings/{name}"
        self._put(where, self.objects[where])

    def clusters(self, name: str) -> dict[str, int]:
        return {each["name"]: each["replicas"] for each in self.binding(name)["spec"].get("clusters", [])}

    def ledger(self, site: str) -> Any:
        found = self.objects.get(f"{_MAPS}/ledger-{site}")
        return note_of(_decoded(found, ConfigMapObject)).ledger if found else None

    def _put(self, where: str, body: dict[str, Any]) -> bytes:
        self._version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        if where.startswith(_MAPS):
            body["metadata"]["namespace"] = NAMESPACE
        self.objects[where] = body
        return msgspec.json.encode({"metadata": body["metadata"]})


class FakeScheduler:
    """A scheduler whose watches bring something only when `look` is called."""

    def __init__(
        self, hub: FakeHub, settings: FleetSettings | None = None, homes: HomeView | None = None
    ) -> None:
        self.hub = hub
        self.state = FleetState(NAMESPACE)
        self.metrics = FleetMetrics(CollectorRegistry())
        fake: Any = hub
        self.ledgers = LedgerStore(fake, fake, self.state, self.metrics)
        writer = BindingWriter(fake, fake)
        self.scheduler = FleetScheduler(
            self.state,
            self.ledgers,
            writer,
            self.metrics,
            settings=settings or FleetSettings(),
            homes=homes,
        )

    def add_site(self, summary: Summary, *, ready: bool = True, version: int = 1) -> None:
        name = summary.site
        self.state.members.apply(Member(Site(name=name, ready=ready, region=name), str(version)))
        metadata = {
            "name": f"site-{name}",
            "namespace": NAMESPACE,
            "labels": {FLEET_LABEL: "summary"},
            "annotations": {SITE_ANNOTATION: name},
        }
        document = {"metadata": metadata, "data": {"summary": encode(summary)}}
        self.state.summaries.apply(note_of(_decoded(document, ConfigMapObject)))

    def look(self, *, ledgers: bool = True) -> None:
        """What the watches bring, all at once."""
        seen = set()
        for path, body in self.hub.objects.items():
            if "resourcebindings" in path:
                self.state.bindings.apply(binding_of(_decoded(body, BindingObject)))
                seen.add(f"{body['metadata']['namespace']}/{body['metadata']['name']}")
            elif ledgers and body["metadata"]["name"].startswith("ledger-"):
                self.state.ledgers.apply(note_of(_decoded(body, ConfigMapObject)))
        self.state.bindings.retain(seen)

    async def settle(self) -> None:
        """Rounds until nothing is under way."""
        self.scheduler._take_news()
        self.scheduler._start_turns()
        while self.scheduler._tasks:
            await asyncio.gather(*self.scheduler._tasks)
            self.scheduler._start_turns()


def _merged(before: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(before, dict):
        return patch
    merged = dict(before)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(before.get(key), value)
    return merged


def _decoded(document: dict[str, Any], kind: type[Any]) -> Any:
    return msgspec.json.decode(json.dumps(document), type=kind)
