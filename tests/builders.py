"""Kubernetes objects for tests, written as the API's JSON so that every test crosses the real decoder.

Builders are immutable: each call returns a new one, so a row of a table may start from a shared one.

    node("a").cpu("4").price(0.2).label("zone", "eu-1").build()
    pod("web").requests(cpu="500m", memory="1Gi").on("a").json()
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Namespace, Node, Pod, read_namespace, read_node, read_pod
from tradewind.cluster.snapshot import Amounts, Nodes, Offer, Snapshot
from tradewind.market.notices import notice_of
from tradewind.market.offers import PRICE, own_quote
from tradewind.market.pools import is_durable
from tradewind.market.quotes import NOTHING, Refusals
from tradewind.market.settings import SPOT_INTERRUPTION_RATE

Quantity = str | int | float
Expression = dict[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class _Object:
    document: Mapping[str, Any]

    def field(self, *path: str | int, value: object) -> Self:
        """Any field at all, the odd ones too: `.field("status", "allocatable", value=None)`."""
        return replace(self, document=_changed(self.document, path, value))

    def without(self, *path: str) -> Self:
        return replace(self, document=_dropped(self.document, path))

    def label(self, key: str, value: str) -> Self:
        return self.field("metadata", "labels", key, value=value)

    def annotation(self, key: str, value: str) -> Self:
        return self.field("metadata", "annotations", key, value=value)

    def uid(self, uid: str) -> Self:
        return self.field("metadata", "uid", value=uid)

    def version(self, resource_version: int) -> Self:
        return self.field("metadata", "resourceVersion", value=str(resource_version))

    def json(self) -> bytes:
        return msgspec.json.encode(self.document)


@dataclass(frozen=True)
class NodeBuilder(_Object):
    def cpu(self, quantity: Quantity) -> Self:
        return self.resource("cpu", quantity)

    def memory(self, quantity: Quantity) -> Self:
        return self.resource("memory", quantity)

    def pods(self, quantity: Quantity) -> Self:
        return self.resource("pods", quantity)

    def resource(self, name: str, quantity: Quantity) -> Self:
        capable = self.field("status", "capacity", name, value=quantity)
        return capable.field("status", "allocatable", name, value=quantity)

    def price(self, dollars_an_hour: float) -> Self:
        return self.annotation(PRICE, str(dollars_an_hour))

    def taint(self, key: str, effect: str = "NoSchedule", value: str = "") -> Self:
        taints = self.document["spec"].get("taints", [])
        added = {"key": key, "effect": effect} | ({"value": value} if value else {})
        return self.field("spec", "taints", value=[*taints, added])

    def unschedulable(self) -> Self:
        return self.field("spec", "unschedulable", value=True)

    def build(self) -> Node:
        return read_node(self.json())


@dataclass(frozen=True)
class PodBuilder(_Object):
    """A pod with one container, "main", whose resources `requests` and `limits` set."""

    def namespace(self, name: str) -> Self:
        metadata = self.document["metadata"]
        moved = self.field("metadata", "namespace", value=name)
        by_default = metadata["uid"] == f"{metadata['namespace']}/{metadata['name']}"
        return moved.uid(f"{name}/{metadata['name']}") if by_default else moved

    def requests(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        return self._main("requests", _resource_list(extended, quantities))

    def limits(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        return self._main("limits", _resource_list(extended, quantities))

    def container(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        return self._append("containers", {}, _resource_list(extended, quantities))

    def init(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        return self._append("initContainers", {}, _resource_list(extended, quantities))

    def sidecar(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        always = {"restartPolicy": "Always"}
        return self._append("initContainers", always, _resource_list(extended, quantities))

    def overhead(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        return self.field("spec", "overhead", value=_resource_list(extended, quantities))

    def pod_level(self, extended: Mapping[str, Quantity] | None = None, /, **quantities: Quantity) -> Self:
        """Requests of the pod as a whole."""
        return self.field("spec", "resources", "requests", value=_resource_list(extended, quantities))

    def on(self, node_name: str) -> Self:
        """Where it is Ready."""
        return self.field("spec", "nodeName", value=node_name).ready()

    def ready(self, status: str = "True") -> Self:
        return self.field("status", "conditions", value=[{"type": "Ready", "status": status}])

    def owner(self, kind: str, name: str, uid: str) -> Self:
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
        return self.field("metadata", "ownerReferences", value=[owner])

    def priority(self, priority: int) -> Self:
        return self.field("spec", "priority", value=priority)

    def phase(self, phase: str) -> Self:
        return self.field("status", "phase", value=phase)

    def deleting(self) -> Self:
        return self.field("metadata", "deletionTimestamp", value="2026-01-01T00:00:00Z")

    def node_selector(self, key: str, value: str) -> Self:
        return self.field("spec", "nodeSelector", key, value=value)

    def node_term(self, *expressions: Expression, fields: Sequence[Expression] = ()) -> Self:
        """One more term of the required node affinity, any of which is enough."""
        term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
        path = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
        return self._extend(path, {key: value for key, value in term.items() if value})

    def affinity(self, topology_key: str, labels: Mapping[str, str] | None = None, **fields: Any) -> Self:
        """One more required term, with `labels` to match or fields of a PodAffinityTerm as they are."""
        path = ("spec", "affinity", "podAffinity", _REQUIRED)
        return self._extend(path, {"topologyKey": topology_key, **_label_selector(labels), **fields})

    def anti_affinity(
        self, topology_key: str, labels: Mapping[str, str] | None = None, **fields: Any
    ) -> Self:
        path = ("spec", "affinity", "podAntiAffinity", _REQUIRED)
        return self._extend(path, {"topologyKey": topology_key, **_label_selector(labels), **fields})

    def spread(self, topology_key: str, labels: Mapping[str, str] | None = None, **fields: Any) -> Self:
        """One more constraint of at most one pod of skew, unless the fields say otherwise."""
        constraint = {"topologyKey": topology_key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        path = ("spec", "topologySpreadConstraints")
        return self._extend(path, constraint | _label_selector(labels) | fields)

    def toleration(self, **fields: str) -> Self:
        return self._extend(("spec", "tolerations"), fields)

    def host_port(self, port: int, protocol: str = "TCP", address: str = "") -> Self:
        """A port of the container "main"."""
        wanted = {"containerPort": port, "hostPort": port, "protocol": protocol}
        with_address = wanted | ({"hostIP": address} if address else {})
        return self._extend(("spec", "containers", 0, "ports"), with_address)

    def build(self) -> Pod:
        return read_pod(self.json())

    def _extend(self, path: tuple[str | int, ...], entry: Mapping[str, Any]) -> Self:
        return self.field(*path, value=[*_found(self.document, path), entry])

    def _main(self, key: str, quantities: Mapping[str, Quantity]) -> Self:
        return self.field("spec", "containers", 0, "resources", key, value=quantities)

    def _append(self, key: str, extra: Mapping[str, str], requests: Mapping[str, Quantity]) -> Self:
        containers = self.document["spec"].get(key, [])
        name = f"{key.lower()}-{len(containers)}"
        added = {"name": name, "image": "example", "resources": {"requests": requests}, **extra}
        return self.field("spec", key, value=[*containers, added])


@dataclass(frozen=True)
class NamespaceBuilder(_Object):
    def build(self) -> Namespace:
        return read_namespace(self.json())


def node(name: str) -> NodeBuilder:
    """A node of 4 cores, 16 GiB and 110 pods, without a price."""
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    start = NodeBuilder({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": {}})
    return start.cpu("4").memory("16Gi").pods(110).label("kubernetes.io/hostname", name)


def pod(name: str) -> PodBuilder:
    """A pod that asks for nothing, on no node, in the namespace "default"."""
    metadata = {"name": name, "namespace": "default", "uid": f"default/{name}", "resourceVersion": "1"}
    spec = {"containers": [{"name": "main", "image": "example", "resources": {}}]}
    start = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return PodBuilder({**start, "status": {"phase": "Pending"}})


def namespace(name: str) -> NamespaceBuilder:
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/metadata.name": name}}
    return NamespaceBuilder({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def cluster_of(
    nodes: Iterable[NodeBuilder] = (),
    pods: Iterable[PodBuilder] = (),
    namespaces: Iterable[NamespaceBuilder] = (),
) -> Snapshot:
    cache = Cache(offer_of)
    for each_namespace in namespaces:
        cache.apply_namespace(each_namespace.build())
    for each_node in nodes:
        cache.apply_node(each_node.build())
    for each_pod in pods:
        cache.apply_pod(each_pod.build())
    return cache.snapshot()


def requested(nodes: Nodes) -> Amounts:
    """(R, N) by the pods on each node."""
    return nodes.allocatable - nodes.free


def _resource_list(
    extended: Mapping[str, Quantity] | None, quantities: Mapping[str, Quantity]
) -> dict[str, Quantity]:
    named = {name.replace("_", "-"): quantity for name, quantity in quantities.items()}
    return {**named, **(extended or {})}


def expression(key: str, operator: str, *values: str) -> Expression:
    """A requirement of a selector."""
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def _label_selector(labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {} if labels is None else {"labelSelector": {"matchLabels": dict(labels)}}


def _found(document: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        document = document[key] if isinstance(key, int) else (document or {}).get(key)
    return document or []


def _changed(document: Any, path: tuple[str | int, ...], value: object) -> Any:
    if not path:
        return value
    key, *rest = path
    if isinstance(key, int):
        return [_changed(item, tuple(rest), value) if i == key else item for i, item in enumerate(document)]
    inner = (document or {}).get(key, {})
    return {**(document or {}), key: _changed(inner, tuple(rest), value)}


def _dropped(document: Any, path: tuple[str, ...]) -> Any:
    key, *rest = path
    if not rest:
        return {k: v for k, v in document.items() if k != key}
    return {**document, key: _dropped(document[key], tuple(rest))}


def offer_of(node: Node) -> Offer:
    """What the node alone tells, for a cache without a market."""
    price, median_price, rate = own_quote(node, NOTHING, Refusals())
    durable = is_durable(node)
    if math.isnan(rate):
        rate = 0.0 if durable else SPOT_INTERRUPTION_RATE
    return Offer(
        price, price if math.isnan(median_price) else median_price, rate, durable, notice_of(node) is not None
    )


# A pod of another namespace that has ended: a file with it does not look as if `-A` was forgotten.
ELSEWHERE = pod("done").namespace("kube-system").phase("Succeeded")
