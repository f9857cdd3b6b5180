"""Karmada's placement, as far as it decides about clusters, in its own words."""

from typing import Literal

import msgspec

from tradewind.cluster.wire import LabelSelector, Requirement, Toleration

SpreadField = Literal["cluster", "region", "zone", "provider"]


class Unsupported(msgspec.Struct, frozen=True):
    """A field that is only looked at to refuse it."""


class FieldSelector(msgspec.Struct, frozen=True, rename="camel"):
    match_expressions: tuple[Requirement, ...] | None = None


class ClusterAffinity(msgspec.Struct, frozen=True, rename="camel"):
    affinity_name: str = ""
    cluster_names: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None
    label_selector: LabelSelector | None = None
    field_selector: FieldSelector | None = None
    overflow_affinities: tuple[Unsupported, ...] | None = None


class SpreadConstraint(msgspec.Struct, frozen=True, rename="camel"):
    spread_by_field: SpreadField | Literal[""] = ""
    spread_by_label: str = ""
    min_groups: int = 1
    max_groups: int = 0  # 0: any number


class StaticWeight(msgspec.Struct, frozen=True, rename="camel"):
    target_cluster: ClusterAffinity = ClusterAffinity()
    weight: int = 1


class WeightPreference(msgspec.Struct, frozen=True, rename="camel"):
    static_weight_list: tuple[StaticWeight, ...] | None = None
    dynamic_weight: str | None = None


class ReplicaScheduling(msgspec.Struct, frozen=True, rename="camel"):
    replica_scheduling_type: str = "Divided"
    replica_division_preference: str = ""
    weight_preference: WeightPreference | None = None


class Placement(msgspec.Struct, frozen=True, rename="camel"):
    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinity, ...] | None = None
    cluster_tolerations: tuple[Toleration, ...] | None = None
    spread_constraints: tuple[SpreadConstraint, ...] | None = None
    replica_scheduling: ReplicaScheduling | None = None

    @property
    def affinities(self) -> tuple[ClusterAffinity, ...]:
        """Tried one after the other, until one of them has room."""
        return self.cluster_affinities or (self.cluster_affinity or ClusterAffinity(),)

    @property
    def unsupported(self) -> str:
        """The field of Karmada's that Tradewind does not support, if there is one."""
        if any(each.overflow_affinities for each in self.affinities):
            return "placement.clusterAffinities[].overflowAffinities"
        if any(not each.spread_by_field for each in self.spread_constraints or ()):
            return "placement.spreadConstraints[].spreadByLabel"
        return ""

    @property
    def division(self) -> Literal["Duplicated", "Aggregated", "Static", "Dynamic", "Cost"]:
        """Weighted without weights, to which Karmada's webhook turns a bare Divided, is divided by cost."""
        scheduling = self.replica_scheduling
        if scheduling is None or scheduling.replica_scheduling_type == "Duplicated":
            return "Duplicated"
        match scheduling.replica_division_preference:
            case "Aggregated":
                return "Aggregated"
            case "Weighted":
                weights = scheduling.weight_preference or WeightPreference()
                if weights.dynamic_weight:
                    return "Dynamic"
                return "Static" if weights.static_weight_list else "Cost"
            case _:
                return "Cost"
