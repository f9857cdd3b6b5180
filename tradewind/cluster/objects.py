"""The Kubernetes objects that placement looks at, read from the API's JSON."""

import sys
from collections.abc import Hashable, Iterable, Mapping

import msgspec

from tradewind.cluster.bonds import CLAIM, Bonds, node_bonds, pod_bonds
from tradewind.cluster.claims import claims_of
from tradewind.cluster.constraints import (
    HostPort,
    PodTerm,
    Spread,
    WeightedPodTerm,
    host_ports,
    read_affinity,
    read_spreads,
)
from tradewind.cluster.interning import MAX_KEPT, InterningDecoder, is_kept
from tradewind.cluster.names import ANNOTATION_PREFIX, MAX_POD_ANNOTATION, POD_ANNOTATIONS
from tradewind.cluster.quantity import amount
from tradewind.cluster.requests import pod_sizes, read_nanos, sizes_key
from tradewind.cluster.wire import (
    Condition,
    Metadata,
    NamespaceObject,
    NodeCondition,
    NodeObject,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    OwnerReference,
    PodObject,
    PodSpec,
    PodStatus,
    PreferredNodeTerm,
    RawQuantities,
    Taint,
    Toleration,
)
from tradewind.cluster.workloads import workload_of
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE, read_identity

# Among the pods of a ReplicaSet, those with the lowest cost are deleted first; 0 where there is none.
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_READ_ANNOTATIONS = POD_ANNOTATIONS | {DELETION_COST}

# Before a resource's name, its limits rather than its requests: as a ResourceQuota names them.
LIMITS = "limits."

# The kubelet says so in the message of its condition Ready, when the machine is being stopped.
SHUTDOWN = "NodeShutdown"

# The label of scheduler-plugins and others, and our own annotation for those who have neither.
_GANG_LABEL = "scheduling.x-k8s.io/pod-group"
_GANG_ANNOTATION = ANNOTATION_PREFIX + "gang"

# Where a pod names none.
DEFAULT_SCHEDULER = "default-scheduler"

_FINISHED = frozenset({"Succeeded", "Failed"})
_NO_ANNOTATIONS: Mapping[str, str] = {}  # one for all


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node without its usage, which is the sum over the pods on it."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # only tradewind.dev/...
    allocatable: Mapping[str, int]  # cpu in millicores, all others in whole units
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    conditions: tuple[str, ...] = ()  # types and reasons of those that hold, without Ready; or SHUTDOWN
    provider_id: str = ""
    bonds: Bonds = ()  # annotations of others by which it is to stay


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod and what it takes from a node."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # only POD_ANNOTATIONS and DELETION_COST, and no long ones
    requests: Mapping[str, int]  # cpu in millicores, all others in whole units; "pods" is always 1
    limits: Mapping[str, int]  # the same units; what is not limited is left out
    counted: Mapping[str, int] = {}  # on its node: the requests, and the limits as LIMITS + resource
    node_name: str = ""
    priority: int = 0
    priority_class: str = ""
    preempts: bool = True  # kube-scheduler may evict pods of lower priority for it
    owner: OwnerReference | None = None  # the controller
    workload: str = ""  # the top controller, as far as it is known; "" without one
    created: str = ""  # RFC 3339, sorts by time
    finished: bool = False
    deleting: bool = False
    ready: bool = False  # on its node, by its condition Ready
    node_selector: Mapping[str, str] = {}
    node_terms: tuple[NodeSelectorTerm, ...] | None = None  # one of them must match; None asks for nothing
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    spreads: tuple[Spread, ...] = ()  # that must hold
    preferred_nodes: tuple[PreferredNodeTerm, ...] = ()
    preferred_pods: tuple[WeightedPodTerm, ...] = ()
    preferred_spreads: tuple[Spread, ...] = ()
    gang: str = ""  # of the same namespace, placed together or not at all
    pod_group: str = ""  # the same by kube-scheduler, which places them itself: such a pod is of no gang
    gates: tuple[str, ...] = ()  # names of those that keep kube-scheduler from looking at it
    scheduler_name: str = DEFAULT_SCHEDULER
    nominated: str = ""  # the node that kube-scheduler tries first; nothing once it is on one
    unschedulable: bool = False  # kube-scheduler tried it and found no node
    bonds: Bonds = ()  # what ties it to the node it is on
    claims: tuple[str, ...] = ()  # as people name them
    # What its volumes ask of a node: a term of each must match. None: a claim's volume is not known.
    volume_terms: tuple[tuple[NodeSelectorTerm, ...], ...] | None = ()

    @property
    def waiting(self) -> bool:
        """For a node; held by a gate or not."""
        return not (self.node_name or self.finished or self.deleting)

    @property
    def controller(self) -> str:
        """Empty without one; with the namespace, as a pod can name a controller of another as its owner."""
        return f"{self.namespace}/{self.owner.uid}" if self.owner else ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Namespace(msgspec.Struct, frozen=True, gc=False):
    name: str
    labels: Mapping[str, str]


_node_decoder = msgspec.json.Decoder(NodeObject)
_pod_decoder = msgspec.json.Decoder(PodObject)
_namespace_decoder = msgspec.json.Decoder(NamespaceObject)


def _allocatable(quantities: RawQuantities | None) -> Mapping[str, int]:
    nanos = read_nanos(quantities, "the allocatable resources")
    return {resource: amount(resource, value) for resource, value in nanos.items()}


def _controller(owners: Iterable[OwnerReference] | None) -> OwnerReference | None:
    return next((owner for owner in owners or () if owner.controller), None)


_read_labels: InterningDecoder[Mapping[str, str]] = InterningDecoder(
    dict[str, str], lambda labels: labels or {}, "metadata.labels"
)
_read_owner = InterningDecoder(tuple[OwnerReference, ...], _controller, "metadata.ownerReferences")
_read_allocatable = InterningDecoder(RawQuantities, _allocatable, "status.allocatable")
_read_node_selector: InterningDecoder[Mapping[str, str]] = InterningDecoder(
    dict[str, str], lambda labels: labels or {}, "spec.nodeSelector"
)
_read_tolerations: InterningDecoder[tuple[Toleration, ...]] = InterningDecoder(
    tuple[Toleration, ...], lambda tolerations: tolerations or (), "spec.tolerations"
)


def read_node(data: bytes | msgspec.Raw) -> Node:
    try:
        return node_of(_node_decoder.decode(data))
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'node')}") from error


def node_of(node: NodeObject) -> Node:
    """Fails with one of `UNREADABLE` or with an UnreadableObjectError."""
    labels = _read_labels(node.metadata.labels)
    spec, status = node.spec or NodeSpec(), node.status or NodeStatus()
    allocatable = _read_allocatable(status.allocatable)
    return Node(
        name=_name(node.metadata, "node"),
        labels=labels,
        annotations=_ours(node.metadata.annotations),
        allocatable=allocatable,
        taints=spec.taints or (),
        unschedulable=bool(spec.unschedulable),
        conditions=_holding(status.conditions) if status.conditions else (),
        provider_id=spec.provider_id or "",
        bonds=node_bonds(node.metadata.annotations),
    )


def _holding(conditions: Iterable[NodeCondition]) -> tuple[str, ...]:
    """In one order, and nothing that changes with every heartbeat: equal nodes must compare equal."""
    found: set[str] = set()
    for condition in conditions:
        if condition.type == "Ready":
            if condition.status != "True" and "shutting down" in (condition.message or ""):
                found.add(SHUTDOWN)
        elif condition.status == "True":
            found |= {condition.type, condition.reason or condition.type}
    return tuple(sorted(found))


def read_pod(data: bytes | msgspec.Raw) -> Pod:
    try:
        return pod_of(_pod_decoder.decode(data))
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'pod')}") from error


def pod_of(pod: PodObject) -> Pod:
    """Fails like `node_of`."""
    metadata, spec, status = pod.metadata, pod.spec or PodSpec(), pod.status or PodStatus()
    name = _name(metadata, "pod")
    annotations = _of_pods(metadata.annotations) if metadata.annotations else _NO_ANNOTATIONS
    template = _template(metadata, spec, status)
    bonds = pod_bonds(metadata.annotations, spec)
    return msgspec.structs.replace(
        template,
        name=name,
        uid=metadata.uid or f"{template.namespace}/{name}",  # files written by hand have none
        annotations=annotations,
        node_name=sys.intern(spec.node_name or ""),
        created=metadata.creation_timestamp or "",
        finished=status.phase in _FINISHED,
        deleting=metadata.deletion_timestamp is not None,
        ready=bool(spec.node_name) and _is_ready(pod.status),
        gang="" if template.pod_group else template.gang or annotations.get(_GANG_ANNOTATION, ""),
        gates=tuple([gate.name for gate in spec.scheduling_gates]) if spec.scheduling_gates else (),
        nominated="" if spec.node_name else status.nominated_node_name or "",
        unschedulable=not spec.node_name and _is_unschedulable(status.conditions),
        bonds=bonds,
        claims=claims_of(name, spec) if CLAIM in bonds else (),
        volume_terms=None if CLAIM in bonds else (),
    )


def _is_ready(status: PodStatus | None) -> bool:
    """Files written by hand have no conditions, and a pod that no kubelet has seen yet has them neither."""
    if status is None or not status.conditions:
        return status is None or status.phase == "Running"
    return any(each.type == "Ready" and each.status == "True" for each in status.conditions)


def _is_unschedulable(conditions: Iterable[Condition] | None) -> bool:
    return any(each.type == "PodScheduled" and each.reason == "Unschedulable" for each in conditions or ())


_templates: dict[Hashable, Pod] = {}


def _template(metadata: Metadata, spec: PodSpec, status: PodStatus) -> Pod:
    """What the pods of a workload have in common: read once for all that say the same."""
    ports = host_ports(spec)
    key = (
        metadata.namespace,
        bytes(metadata.labels),
        bytes(metadata.owner_references),
        not metadata.creation_timestamp,
        sizes_key(spec, status),
        ports,
        spec.priority,
        spec.priority_class_name,
        spec.preemption_policy,
        spec.scheduler_name,
        spec.scheduling_group and spec.scheduling_group.pod_group_name,
        bytes(spec.node_selector),
        bytes(spec.affinity),
        bytes(spec.tolerations),
        bytes(spec.topology_spread_constraints),
    )
    pod = _templates.get(key)
    if pod is None:
        if len(_templates) >= MAX_KEPT:
            _templates.clear()
        pod = _read_template(metadata, spec, status, ports)
        if is_kept(key):
            _templates[key] = pod
    return pod


def _read_template(metadata: Metadata, spec: PodSpec, status: PodStatus, ports: frozenset[HostPort]) -> Pod:
    namespace = sys.intern(metadata.namespace or "default")
    labels = _read_labels(metadata.labels)
    unmerged = {} if metadata.creation_timestamp else labels  # stored by the API server, or from a file
    sizes = pod_sizes(spec, status)
    owner = _read_owner(metadata.owner_references)
    affinity = read_affinity(spec.affinity, namespace, unmerged)
    spreads = read_spreads(spec.topology_spread_constraints, labels)
    return Pod(
        namespace=namespace,
        name="",
        uid="",
        labels=labels,
        annotations=_NO_ANNOTATIONS,
        requests=sizes.requests,
        limits=sizes.limits,
        counted={**sizes.requests, **{LIMITS + name: limit for name, limit in sizes.limits.items()}},
        priority=spec.priority or 0,
        priority_class=sys.intern(spec.priority_class_name or ""),
        preempts=spec.preemption_policy != "Never",
        owner=owner,
        workload=sys.intern(workload_of(owner, namespace, labels)),
        node_selector=_read_node_selector(spec.node_selector),
        node_terms=affinity.node_terms,
        tolerations=_read_tolerations(spec.tolerations),
        host_ports=ports,
        affinity=affinity.pod_terms,
        anti_affinity=affinity.anti_terms,
        spreads=spreads.required,
        preferred_nodes=affinity.preferred_nodes,
        preferred_pods=affinity.preferred_pods,
        preferred_spreads=spreads.preferred,
        gang=labels.get(_GANG_LABEL, ""),
        pod_group=(spec.scheduling_group and spec.scheduling_group.pod_group_name) or "",
        scheduler_name=sys.intern(spec.scheduler_name or DEFAULT_SCHEDULER),
    )


def read_namespace(data: bytes | msgspec.Raw) -> Namespace:
    try:
        return namespace_of(_namespace_decoder.decode(data))
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in {_named(data, 'namespace')}") from error


def namespace_of(namespace: NamespaceObject) -> Namespace:
    """Fails like `node_of`."""
    labels = _read_labels(namespace.metadata.labels)
    return Namespace(name=_name(namespace.metadata, "namespace"), labels=labels)


def _name(metadata: Metadata, kind: str) -> str:
    if not metadata.name:
        raise UnreadableObjectError(f"a {kind} without metadata.name")
    return metadata.name


def _ours(annotations: Mapping[str, str] | None) -> Mapping[str, str]:
    ours = {key: value for key, value in (annotations or {}).items() if key.startswith(ANNOTATION_PREFIX)}
    return ours or _NO_ANNOTATIONS


def _of_pods(annotations: Mapping[str, str]) -> Mapping[str, str]:
    known = {
        key: value
        for key, value in annotations.items()
        if key in _READ_ANNOTATIONS and len(value) <= MAX_POD_ANNOTATION
    }
    return known or _NO_ANNOTATIONS


def _named(data: bytes | msgspec.Raw, kind: str) -> str:
    try:
        identity = read_identity(data)
    except UnreadableObjectError:
        return f"a {kind} without readable metadata"
    return f"{kind} {identity.namespace}/{identity.name}" if identity.namespace else f"{kind} {identity.name}"
