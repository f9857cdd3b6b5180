"""The API's JSON as structs: only the fields that are used; the decoder skips everything else.

A field that Go may leave out or write as null has a default and allows None. Objects are trees, so that the
garbage collector need not look for cycles among them (gc=False): in a list of thousands it did little else.
"""

from collections.abc import Mapping

import msgspec

RawQuantities = Mapping[str, str | int | float | None]
"""Quantities as they stand in the JSON; people and some clients write bare numbers, and null is zero."""

NULL = msgspec.Raw(b"null")
"""For parts that many objects have alike, which cluster.interning reads: the same bytes, the same value."""


class OwnerReference(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: msgspec.Raw = NULL
    resource_version: str | None = None
    annotations: dict[str, str] | None = None
    owner_references: msgspec.Raw = NULL
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class Requirement(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(msgspec.Struct, rename="camel", gc=False):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class NodeSelectorTerm(msgspec.Struct, frozen=True, rename="camel", gc=False):
    match_expressions: tuple[Requirement, ...] | None = None
    match_fields: tuple[Requirement, ...] | None = None


class NodeSelector(msgspec.Struct, rename="camel", gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class PreferredNodeTerm(msgspec.Struct, frozen=True, gc=False):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(msgspec.Struct, rename="camel", gc=False):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredNodeTerm, ...] | None = None


class PodAffinityTerm(msgspec.Struct, rename="camel", gc=False):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class PreferredPodTerm(msgspec.Struct, rename="camel", gc=False):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = msgspec.field(default_factory=PodAffinityTerm)


class PodAffinity(msgspec.Struct, rename="camel", gc=False):
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredPodTerm, ...] | None = None


class Affinity(msgspec.Struct, rename="camel", gc=False):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(msgspec.Struct, rename="camel", gc=False):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class Toleration(msgspec.Struct, frozen=True, gc=False):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Port(msgspec.Struct, rename="camel", gc=False):
    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class Taint(msgspec.Struct, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct, gc=False):
    taints: tuple[Taint, ...] | None = None
    unschedulable: bool | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")


class NodeCondition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None


class NodeStatus(msgspec.Struct, gc=False):
    allocatable: msgspec.Raw = NULL
    conditions: list[NodeCondition] | None = None


class NodeObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class ResourceLists(msgspec.Struct, gc=False):
    requests: RawQuantities | None = None
    limits: RawQuantities | None = None


class Container(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    resources: msgspec.Raw = NULL
    restart_policy: str | None = None
    ports: list[Port] | None = None


class ContainerStatus(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    resources: msgspec.Raw = NULL
    allocated_resources: msgspec.Raw = NULL


class Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""
    reason: str | None = None


class SchedulingGroup(msgspec.Struct, rename="camel", gc=False):
    pod_group_name: str | None = None


class SchedulingGate(msgspec.Struct, gc=False):
    name: str = ""


class Volume(msgspec.Struct, rename="camel", gc=False):
    """Of each kind only whether it is there; claims are read by those who name them."""

    name: str = ""
    empty_dir: msgspec.Raw = NULL
    host_path: msgspec.Raw = NULL
    persistent_volume_claim: msgspec.Raw = NULL
    ephemeral: msgspec.Raw = NULL


class PodSpec(msgspec.Struct, rename="camel", gc=False):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: msgspec.Raw = NULL
    resources: msgspec.Raw = NULL
    node_name: str | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    node_selector: msgspec.Raw = NULL
    affinity: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    topology_spread_constraints: msgspec.Raw = NULL
    scheduling_group: SchedulingGroup | None = None
    scheduling_gates: tuple[SchedulingGate, ...] | None = None
    scheduler_name: str | None = None
    volumes: list[Volume] | None = None
    resource_claims: msgspec.Raw = NULL


class PodStatus(msgspec.Struct, rename="camel", gc=False):
    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: msgspec.Raw = NULL
    allocated_resources: msgspec.Raw = NULL


class PodObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NamespaceObject(msgspec.Struct, gc=False):
    metadata: Metadata


class VolumeAffinityObject(msgspec.Struct, gc=False):
    required: NodeSelector | None = None


class VolumeSpec(msgspec.Struct, rename="camel", gc=False):
    node_affinity: VolumeAffinityObject | None = None


class VolumeObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: VolumeSpec | None = None


class VolumeClaimSpec(msgspec.Struct, rename="camel", gc=False):
    volume_name: str | None = None


class VolumeClaimObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: VolumeClaimSpec | None = None


class BudgetSpec(msgspec.Struct, rename="camel", gc=False):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(msgspec.Struct, rename="camel", gc=False):
    disruptions_allowed: int | None = None
    current_healthy: int | None = None


class BudgetObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: BudgetSpec | None = None
    status: BudgetStatus | None = None
