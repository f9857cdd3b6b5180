"""The Kubernetes objects that placement looks at, read from the API's JSON."""

from collections.abc import Mapping

import msgspec

from cluster.errors import QuantityError, UnreadableObjectError
from cluster.quantity import amount
from cluster.requests import pod_requests, read_nanos
from cluster.wire import Metadata, NamespaceObject, NodeObject, PodObject, PodSpec, PodStatus, Taint

ANNOTATION_PREFIX = "tradewind.dev/"

_FINISHED = frozenset({"Succeeded", "Failed"})

# What bytes that are no such object end in; a RecursionError comes from brackets nested too deep.
_UNREADABLE = (msgspec.MsgspecError, QuantityError, UnicodeDecodeError, RecursionError)


class Node(msgspec.Struct, frozen=True):
    """A node without its usage, which is the sum over the pods on it."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # only tradewind.dev/...
    allocatable: Mapping[str, int]  # cpu in millicores, all others in whole units
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class Pod(msgspec.Struct, frozen=True):
    """A pod and what it takes from a node."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # only tradewind.dev/...
    requests: Mapping[str, int]  # cpu in millicores, all others in whole units; "pods" is always 1
    node_name: str = ""
    priority: int = 0
    finished: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Namespace(msgspec.Struct, frozen=True):
    name: str
    labels: Mapping[str, str]


class Identity(msgspec.Struct, rename="camel"):
    """What can be said of an object even where the rest of it cannot be read."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class _Identified(msgspec.Struct):
    metadata: Identity


_node_decoder = msgspec.json.Decoder(NodeObject)
_pod_decoder = msgspec.json.Decoder(PodObject)
_namespace_decoder = msgspec.json.Decoder(NamespaceObject)
_identity_decoder = msgspec.json.Decoder(_Identified)


def read_node(data: bytes | msgspec.Raw) -> Node:
    try:
        node = _node_decoder.decode(data)
        nanos = read_nanos(node.status.allocatable if node.status else None, "the allocatable resources")
    except _UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'node')}") from error
    spec = node.spec
    return Node(
        name=_name(node.metadata, "node"),
        labels=node.metadata.labels or {},
        annotations=_ours(node.metadata.annotations),
        allocatable={resource: amount(resource, value) for resource, value in nanos.items()},
        taints=(spec.taints or ()) if spec else (),
        unschedulable=bool(spec and spec.unschedulable),
    )


def read_pod(data: bytes | msgspec.Raw) -> Pod:
    try:
        pod = _pod_decoder.decode(data)
        spec = pod.spec or PodSpec()
        status = pod.status or PodStatus()
        requests = pod_requests(spec, status)
    except _UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'pod')}") from error
    name = _name(pod.metadata, "pod")
    namespace = pod.metadata.namespace or "default"
    return Pod(
        namespace=namespace,
        name=name,
        uid=pod.metadata.uid or f"{namespace}/{name}",  # files written by hand have none
        labels=pod.metadata.labels or {},
        annotations=_ours(pod.metadata.annotations),
        requests=requests,
        node_name=spec.node_name or "",
        priority=spec.priority or 0,
        finished=status.phase in _FINISHED,
    )


def read_namespace(data: bytes | msgspec.Raw) -> Namespace:
    try:
        namespace = _namespace_decoder.decode(data)
    except _UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'namespace')}") from error
    return Namespace(name=_name(namespace.metadata, "namespace"), labels=namespace.metadata.labels or {})


def read_identity(data: bytes | msgspec.Raw) -> Identity:
    try:
        return _identity_decoder.decode(data).metadata
    except _UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in an object without readable metadata") from error


def _name(metadata: Metadata, kind: str) -> str:
    if not metadata.name:
        raise UnreadableObjectError(f"a {kind} without metadata.name")
    return metadata.name


def _ours(annotations: Mapping[str, str] | None) -> dict[str, str]:
    return {k: v for k, v in (annotations or {}).items() if k.startswith(ANNOTATION_PREFIX)}


def _named(data: bytes | msgspec.Raw, kind: str) -> str:
    try:
        identity = read_identity(data)
    except UnreadableObjectError:
        return f"a {kind} without readable metadata"
    return f"{kind} {identity.namespace}/{identity.name}" if identity.namespace else f"{kind} {identity.name}"
