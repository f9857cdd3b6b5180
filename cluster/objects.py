"""The Kubernetes objects that placement looks at, read from the API's JSON."""

from collections.abc import Mapping

import msgspec

from cluster.errors import QuantityError, UnreadableObjectError
from cluster.quantity import amount
from cluster.requests import pod_requests, read_nanos
from cluster.wire import Metadata, NamespaceObject, NodeObject, PodObject, Taint

ANNOTATION_PREFIX = "tradewind.dev/"

_FINISHED = frozenset({"Succeeded", "Failed"})

_node_decoder = msgspec.json.Decoder(NodeObject)
_pod_decoder = msgspec.json.Decoder(PodObject)
_namespace_decoder = msgspec.json.Decoder(NamespaceObject)


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


def read_node(data: bytes | msgspec.Raw) -> Node:
    try:
        node = _node_decoder.decode(data)
        nanos = read_nanos(node.status.allocatable if node.status else None, "the allocatable resources")
    except (msgspec.MsgspecError, QuantityError, UnicodeDecodeError) as error:
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
        requests = pod_requests(pod)
    except (msgspec.MsgspecError, QuantityError, UnicodeDecodeError) as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'pod')}") from error
    return Pod(
        namespace=pod.metadata.namespace or "default",
        name=_name(pod.metadata, "pod"),
        uid=pod.metadata.uid or "",
        labels=pod.metadata.labels or {},
        annotations=_ours(pod.metadata.annotations),
        requests=requests,
        node_name=pod.spec.node_name or "",
        priority=pod.spec.priority or 0,
        finished=pod.status.phase in _FINISHED,
    )


def read_namespace(data: bytes | msgspec.Raw) -> Namespace:
    try:
        namespace = _namespace_decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'namespace')}") from error
    return Namespace(name=_name(namespace.metadata, "namespace"), labels=namespace.metadata.labels or {})


def _name(metadata: Metadata, kind: str) -> str:
    if not metadata.name:
        raise UnreadableObjectError(f"a {kind} without metadata.name")
    return metadata.name


def _ours(annotations: Mapping[str, str] | None) -> dict[str, str]:
    return {k: v for k, v in (annotations or {}).items() if k.startswith(ANNOTATION_PREFIX)}


class _Identity(msgspec.Struct):
    name: object = None
    namespace: object = None


class _Identified(msgspec.Struct):
    metadata: _Identity


def _named(data: bytes | msgspec.Raw, kind: str) -> str:
    """What can be said of an object that does not decode."""
    try:
        identity = msgspec.json.decode(data, type=_Identified).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return f"a {kind} without readable metadata"
    return f"{kind} {identity.namespace}/{identity.name}" if identity.namespace else f"{kind} {identity.name}"
