"""Karmada's objects and our ConfigMaps as structs: only the fields that are used."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from tradewind.cluster.interning import InterningDecoder
from tradewind.cluster.wire import NULL, NodeSelectorTerm, RawQuantities, Taint, Toleration
from tradewind.fleet.placement import Placement, Unsupported

BINDINGS = "/apis/work.karmada.io/v1alpha2"
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
POLICIES = "/apis/policy.karmada.io/v1alpha1"
QUOTAS = f"{POLICIES}/federatedresourcequotas"


class Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None


class Condition(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ClusterSpec(msgspec.Struct, gc=False):
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: tuple[str, ...] | None = None
    taints: tuple[Taint, ...] | None = None


class ClusterStatus(msgspec.Struct, rename="camel", gc=False):
    conditions: tuple[Condition, ...] | None = None
    api_enablements: msgspec.Raw = NULL


class ClusterObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: ClusterSpec = msgspec.field(default_factory=ClusterSpec)
    status: ClusterStatus = msgspec.field(default_factory=ClusterStatus)


class _ApiResource(msgspec.Struct):
    kind: str = ""


class _ApiEnablement(msgspec.Struct, rename="camel"):
    group_version: str = ""
    resources: list[_ApiResource] | None = None


def _apis(enablements: list[_ApiEnablement] | None) -> frozenset[str]:
    return frozenset(
        f"{each.group_version}/{resource.kind}"
        for each in enablements or ()
        for resource in each.resources or ()
    )


read_apis: InterningDecoder[frozenset[str]] = InterningDecoder(
    list[_ApiEnablement], _apis, "status.apiEnablements"
)


class PolicyObject(msgspec.Struct, gc=False):
    metadata: Metadata


class ConfigMapObject(msgspec.Struct, gc=False):
    metadata: Metadata
    data: dict[str, str] | None = None


class TargetCluster(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    replicas: int = 0


class NodeSelector(msgspec.Struct, rename="camel", gc=False):
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = None


class NodeClaim(msgspec.Struct, rename="camel", gc=False):
    hard_node_affinity: NodeSelector | None = None
    node_selector: dict[str, str] | None = None
    tolerations: tuple[Toleration, ...] | None = None


class ReplicaRequirements(msgspec.Struct, rename="camel", gc=False):
    resource_request: RawQuantities | None = None
    node_claim: NodeClaim | None = None


class ObjectReference(msgspec.Struct, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class Suspension(msgspec.Struct, gc=False):
    scheduling: bool | None = None


class SchedulePriority(msgspec.Struct, gc=False):
    priority: int = 0


class WorkloadGroups(msgspec.Struct, frozen=True, rename="camel", gc=False):
    affinity_group: str = ""
    anti_affinity_group: str = ""


class BindingSpec(msgspec.Struct, rename="camel", gc=False):
    resource: ObjectReference = msgspec.field(default_factory=ObjectReference)
    replicas: int = 0
    replica_requirements: ReplicaRequirements | None = None
    components: tuple[Unsupported, ...] | None = None
    workload_affinity_groups: WorkloadGroups | None = None
    clusters: tuple[TargetCluster, ...] | None = None
    placement: msgspec.Raw = NULL
    graceful_eviction_tasks: tuple[dict[str, Any], ...] | None = None  # written back whole
    scheduler_name: str = ""
    reschedule_triggered_at: datetime | None = None
    suspension: Suspension | None = None
    schedule_priority: SchedulePriority | None = None


class ItemStatus(msgspec.Struct, rename="camel", gc=False):
    replicas: int | None = None  # pods, those of a rolling update too
    ready_replicas: int = 0
    updated_replicas: int | None = None


class AggregatedItem(msgspec.Struct, rename="camel", gc=False):
    cluster_name: str = ""
    status: msgspec.Raw = NULL


class BindingStatus(msgspec.Struct, rename="camel", gc=False):
    scheduler_observed_generation: int = 0
    scheduler_observed_affinity_name: str = msgspec.field(default="", name="schedulerObservingAffinityName")
    last_scheduled_time: datetime | None = None
    conditions: tuple[Condition, ...] | None = None
    aggregated_status: tuple[AggregatedItem, ...] | None = None


class BindingObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: BindingSpec = msgspec.field(default_factory=BindingSpec)
    status: BindingStatus = msgspec.field(default_factory=BindingStatus)


class QuotaSpec(msgspec.Struct, gc=False):
    overall: RawQuantities | None = None


class QuotaStatus(msgspec.Struct, rename="camel", gc=False):
    overall_used: RawQuantities | None = None


class QuotaObject(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: QuotaSpec = msgspec.field(default_factory=QuotaSpec)
    status: QuotaStatus = msgspec.field(default_factory=QuotaStatus)


_status_decoder = msgspec.json.Decoder(ItemStatus)
read_placement: InterningDecoder[Placement] = InterningDecoder(
    Placement, lambda placement: placement or Placement(), "spec.placement"
)


def statuses(items: tuple[AggregatedItem, ...] | None) -> Mapping[str, ItemStatus]:
    """Of each cluster; one whose status has another form says nothing."""
    found = {}
    for item in items or ():
        try:
            found[item.cluster_name] = _status_decoder.decode(item.status)
        except msgspec.MsgspecError:
            found[item.cluster_name] = ItemStatus()
    return found
