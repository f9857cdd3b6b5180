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
from tradewind.hub.records import (
    FLEET_LABEL,
    SITE_ANNOTATION,
    Member,
    binding_of,
    note_of,
    policy_of,
    quota_of,
)
from tradewind.hub.scheduler import FleetScheduler
from tradewind.hub.state import FleetState
from tradewind.hub.wire import BindingObject, ConfigMapObject, PolicyObject, QuotaObject

NAMESPACE, SITES = "tradewind-system", "tradewind-sites"
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

    def add_binding(
        self, name: str, replicas: int, *, namespace: str = "shop", policy: str = "", **spec: Any
    ) -> None:
        annotations = {"propagationpolicy.karmada.io/name": policy} if policy else {}
        body = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": f"uid-{name}",
                "generation": 1,
                "annotations": annotations,
            },
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
        self._put(_binding_path(name, namespace), body)

    def change_binding(self, name: str, namespace: str = "shop", **spec: Any) -> None:
        """As a controller does: one generation more."""
        where = _binding_path(name, namespace)
        body = self.objects[where]
        metadata = {**body["metadata"], "generation": body["metadata"]["generation"] + 1}
        self._put(where, {**body, "metadata": metadata, "spec": {**body["spec"], **spec}})

    def set_status(self, name: str, namespace: str = "shop", **status: Any) -> None:
        where = _binding_path(name, namespace)
        body = self.objects[where]
        self._put(where, {**body, "status": {**body["status"], **status}})

    def binding(self, name: str, namespace: str = "shop") -> dict[str, Any]:
        return self.objects[_binding_path(name, namespace)]

    def touch_binding(self, name: str, namespace: str = "shop") -> None:
        """A new version of what is there."""
        where = _binding_path(name, namespace)
        self._put(where, self.objects[where])

    def clusters(self, name: str) -> dict[str, int]:
        return {
            each["name"]: each.get("replicas", 0) for each in self.binding(name)["spec"].get("clusters", [])
        }

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
        self.state = FleetState(NAMESPACE, SITES)
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

    def add_site(
        self,
        summary: Summary,
        *,
        ready: bool = True,
        version: int = 1,
        leaving: bool = False,
        labels: dict[str, str] | None = None,
    ) -> None:
        name = summary.site
        site = Site(name=name, ready=ready, region=name, labels=labels or {})
        self.state.members.apply(Member(site, str(version), leaving=leaving))
        metadata = {
            "name": f"site-{name}",
            "namespace": SITES,
            "labels": {FLEET_LABEL: "summary"},
            "annotations": {SITE_ANNOTATION: name},
        }
        document = {"metadata": metadata, "data": {"summary": encode(summary)}}
        self.state.summaries.apply(note_of(_decoded(document, ConfigMapObject)))

    def add_quota(self, namespace: str, overall: dict[str, str]) -> None:
        quota = {"metadata": {"name": "quota", "namespace": namespace}, "spec": {"overall": overall}}
        self.state.quotas.apply(quota_of(_decoded(quota, QuotaObject)))

    def add_policy(self, name: str, namespace: str, annotations: dict[str, str]) -> None:
        policy = {"metadata": {"name": name, "namespace": namespace, "annotations": annotations}}
        self.state.policies.apply(policy_of(_decoded(policy, PolicyObject)))

    def look(self, *, ledgers: bool = True) -> None:
        """What the watches bring, all at once."""
        seen = set()
        for path, body in self.hub.objects.items():
            if "resourcebindings" in path:
                binding = binding_of(_decoded(body, BindingObject))
                self.state.bindings.apply(binding)
                seen.add(binding.key)
            elif ledgers and body["metadata"]["name"].startswith("ledger-"):
                self.state.ledgers.apply(note_of(_decoded(body, ConfigMapObject)))
        for binding in self.state.bindings.all():
            if binding.key not in seen:
                self.state.bindings.remove(binding.key)

    async def settle(self) -> None:
        """Rounds until nothing is under way."""
        self.scheduler._take_news()
        self.scheduler._start_turns()
        while self.scheduler._tasks:
            await asyncio.gather(*self.scheduler._tasks)
            self.scheduler._start_turns()


def _binding_path(name: str, namespace: str) -> str:
    if not namespace:
        return f"/apis/work.karmada.io/v1alpha2/clusterresourcebindings/{name}"
    return f"/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings/{name}"


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
