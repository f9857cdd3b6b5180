"""The cluster at one moment, as read-only columns that any number of readers may share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cluster.groups import PodGroup
from cluster.objects import Namespace, Pod
from cluster.placed import Placed
from cluster.table import Mask, NodeTable, Rows

Amounts = NDArray[np.int64]
Floats = NDArray[np.float64]

Number = TypeVar("Number", np.int64, np.float64, np.bool_)


class Offer(NamedTuple):
    """On what terms a node is had."""

    price: float  # dollars an hour, NaN where unknown
    median_price: float  # the same over a longer time, NaN where unknown
    interruption_rate: float  # how likely it is to vanish, 0..1
    durable: bool  # not a spot node
    leaving: bool = False  # there is a sign that it is about to be taken away


@dataclass(frozen=True, kw_only=True, eq=False)
class Cluster:
    """All nodes and what is on them, whichever of them are candidates."""

    table: NodeTable
    durable: Mask  # (N,) of all nodes
    leaving: Mask  # (N,) of all nodes: about to be taken away
    placed: Placed
    namespaces: Mapping[str, Namespace]

    @cached_property
    def groups_of_owner(self) -> Mapping[str, Sequence[PodGroup]]:
        """The controller's UID to the groups of its pods."""
        found: dict[str, list[PodGroup]] = {}
        for group in self.placed.groups:
            found.setdefault(group.owner_uid, []).append(group)
        return found

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        known = self.namespaces.get(namespace)
        return known.labels if known else {}

    def counts(self, group: PodGroup) -> tuple[Rows, Amounts]:
        """The rows of the known nodes that have pods of this group, and how many each has."""
        row_of = self.table.row_of
        found = [(row_of[name], count) for name, count in self.placed.groups[group].items() if name in row_of]
        rows, counts = zip(*found, strict=True) if found else ((), ())
        return np.array(rows, np.intp), np.array(counts, np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """N nodes as columns; R resources as the rows of the two-dimensional ones.

    Resource-major, because rules look at one resource of all nodes and not at all resources of one node.
    """

    rows: Rows  # (N,) in the tables of `cluster`
    resource_rows: Mapping[str, int]
    allocatable: Amounts  # (R, N) cpu in millicores, all others in whole units
    requested: Amounts  # (R, N) the same units, by the pods on the node
    price: Floats  # (N,) dollars an hour, NaN where unknown
    median_price: Floats  # (N,) the same over a longer time
    interruption_rate: Floats  # (N,) how likely it is to vanish, 0..1
    durable: Mask  # (N,) not a spot node
    cluster: Cluster

    def __len__(self) -> int:
        return self.rows.size

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Made when asked for: no rule needs them, and thousands of names take longer than all rules."""
        return self.names_at(range(len(self)))

    def names_at(self, indices: Iterable[int]) -> tuple[str, ...]:
        names, rows = self.cluster.table.names, self.rows
        return tuple(names[rows[index]] for index in indices)

    @cached_property
    def free(self) -> Amounts:
        """(R, N) what is left; negative where a node is overcommitted."""
        return frozen(self.allocatable - self.requested)

    def take(self, rows: Rows) -> "Nodes":
        """These rows as nodes of their own, in this order."""
        return replace(
            self,
            rows=self.rows.take(rows),
            allocatable=frozen(self.allocatable.take(rows, axis=1)),
            requested=frozen(self.requested.take(rows, axis=1)),
            price=frozen(self.price.take(rows)),
            median_price=frozen(self.median_price.take(rows)),
            interruption_rate=frozen(self.interruption_rate.take(rows)),
            durable=frozen(self.durable.take(rows)),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    generation: int
    nodes: Nodes

    @property
    def row_of(self) -> Mapping[str, int]:
        return self.nodes.cluster.table.row_of

    def without(self, pods: Iterable[Pod]) -> "Snapshot":
        """The same cluster as if these pods had left their nodes."""
        return self._changed(pods, -1)

    def with_pods(self, pods: Iterable[Pod]) -> "Snapshot":
        """The same cluster as if these pods, which it does not count, were on the nodes that they name."""
        return self._changed(pods, 1)

    def _changed(self, pods: Iterable[Pod], by: int) -> "Snapshot":
        changed = [pod for pod in pods if pod.node_name in self.row_of and not pod.finished]
        if not changed:
            return self
        requested = self.nodes.requested.copy()
        for pod in changed:
            for resource, amount in pod.requests.items():
                row = self.nodes.resource_rows.get(resource)  # None: no node has any, no rule asks
                if row is not None:
                    requested[row, self.row_of[pod.node_name]] += by * amount
        cluster = replace(self.nodes.cluster, placed=self.nodes.cluster.placed.changed(changed, by))
        return replace(self, nodes=replace(self.nodes, requested=frozen(requested), cluster=cluster))


def frozen(column: NDArray[Number]) -> NDArray[Number]:
    column.setflags(write=False)
    return column
