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

Number = TypeVar("Number", np.int64, np.float64, np.bool_, np.intp)


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

    def groups_of_owner(self, uid: str) -> Sequence[PodGroup]:
        """The groups of the pods of this controller."""
        groups = self.placed.groups
        return [group for group in self.placed.group_index.of_owner(uid) if group in groups]

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
class Columns:
    """All N nodes; R resources as the rows of the two-dimensional columns.

    Resource-major, because rules look at one resource of all nodes and not at all resources of one node.
    """

    rows: Rows  # (N,) 0, 1, 2, ...
    resource_rows: Mapping[str, int]
    allocatable: Amounts  # (R, N) cpu in millicores, all others in whole units
    requested: Amounts  # (R, N) the same units, by the pods on the node
    price: Floats  # (N,) dollars an hour, NaN where unknown
    median_price: Floats  # (N,) the same over a longer time
    interruption_rate: Floats  # (N,) how likely it is to vanish, 0..1
    durable: Mask  # (N,) not a spot node
    leaving: Mask  # (N,) about to be taken away

    @cached_property
    def free(self) -> Amounts:
        """(R, N) what is left; negative where a node is overcommitted."""
        return frozen(self.allocatable - self.requested)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """Some or all nodes of a cluster: each column is cut out of that of all nodes when a rule asks for it."""

    rows: Rows  # (N,) in the columns and in the tables of `cluster`
    columns: Columns  # of all nodes
    cluster: Cluster

    def __len__(self) -> int:
        return self.rows.size

    @property
    def resource_rows(self) -> Mapping[str, int]:
        return self.columns.resource_rows

    @cached_property
    def allocatable(self) -> Amounts:
        return self._cut(self.columns.allocatable)

    @cached_property
    def requested(self) -> Amounts:
        return self._cut(self.columns.requested)

    @cached_property
    def free(self) -> Amounts:
        return self._cut(self.columns.free)

    @cached_property
    def price(self) -> Floats:
        return self._cut(self.columns.price)

    @cached_property
    def median_price(self) -> Floats:
        return self._cut(self.columns.median_price)

    @cached_property
    def interruption_rate(self) -> Floats:
        return self._cut(self.columns.interruption_rate)

    @cached_property
    def durable(self) -> Mask:
        return self._cut(self.columns.durable)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Made when asked for: no rule needs them, and thousands of names take longer than all rules."""
        return self._named(self.rows)

    def names_at(self, indices: Sequence[int] | slice) -> tuple[str, ...]:
        return self._named(self.rows[indices])

    def take(self, rows: Rows) -> "Nodes":
        """These rows as nodes of their own, in this order."""
        return Nodes(rows=frozen(self.rows.take(rows)), columns=self.columns, cluster=self.cluster)

    def _named(self, rows: Rows) -> tuple[str, ...]:
        names = self.cluster.table.names
        return tuple([names[row] for row in rows.tolist()])

    def _cut(self, column: NDArray[Number]) -> NDArray[Number]:
        return column if self.rows is self.columns.rows else frozen(column.take(self.rows, axis=-1))


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
        row_of, resource_rows = self.row_of, self.nodes.resource_rows
        changed = [pod for pod in pods if pod.node_name in row_of and not pod.finished]
        if not changed:
            return self
        requested = self.nodes.requested.copy()
        for pod in changed:
            column = requested[:, row_of[pod.node_name]]
            for resource, amount in pod.requests.items():
                row = resource_rows.get(resource)  # None: no node has any, no rule asks
                if row is not None:
                    column[row] += by * amount
        columns = replace(self.nodes.columns, requested=frozen(requested))
        cluster = replace(self.nodes.cluster, placed=self.nodes.cluster.placed.changed(changed, by))
        return replace(self, nodes=replace(self.nodes, columns=columns, cluster=cluster))


def frozen(column: NDArray[Number]) -> NDArray[Number]:
    column.setflags(write=False)
    return column
