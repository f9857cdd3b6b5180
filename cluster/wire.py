"""The API's JSON as structs: only the fields that are used; the decoder skips everything else.

A field that Go may leave out or write as null has a default and allows None.
"""

from collections.abc import Mapping

import msgspec

RawQuantities = Mapping[str, str | int | float | None]
"""Quantities as they stand in the JSON; people and some clients write bare numbers, and null is zero."""


class Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    resource_version: str | None = None


class Taint(msgspec.Struct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(msgspec.Struct):
    taints: tuple[Taint, ...] | None = None
    unschedulable: bool | None = None


class NodeStatus(msgspec.Struct):
    allocatable: RawQuantities | None = None


class NodeObject(msgspec.Struct):
    metadata: Metadata
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class ResourceLists(msgspec.Struct):
    requests: RawQuantities | None = None


class Container(msgspec.Struct, rename="camel"):
    name: str = ""
    resources: ResourceLists | None = None
    restart_policy: str | None = None


class ContainerStatus(msgspec.Struct, rename="camel"):
    name: str = ""
    resources: ResourceLists | None = None
    allocated_resources: RawQuantities | None = None


class Condition(msgspec.Struct):
    type: str = ""
    reason: str | None = None


class PodSpec(msgspec.Struct, rename="camel"):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: RawQuantities | None = None
    resources: ResourceLists | None = None
    node_name: str | None = None
    priority: int | None = None


class PodStatus(msgspec.Struct, rename="camel"):
    phase: str | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ResourceLists | None = None
    allocated_resources: RawQuantities | None = None


class PodObject(msgspec.Struct):
    metadata: Metadata
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NamespaceObject(msgspec.Struct):
    metadata: Metadata
