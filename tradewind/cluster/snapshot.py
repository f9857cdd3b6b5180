"""The cluster at one moment, as read-only columns that any number of readers may share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar, TypeVarTuple

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.guide import Guide
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.memoised import Memoised
from tradewind.cluster.objects import LIMITS, Namespace, Pod
from tradewind.cluster.placed import Placed
from tradewind.cluster.roster import Roster
from tradewind.cluster.table import Mask, NodeTable, Rows

Amounts = NDArray["np.int64"]
Floats = NDArray["np.float64"]

_FEW = 8  # nodes, for which the columns of all nodes are not worth a copy

Number = TypeVar("Number", "np.int64", "np.float64", "np.bool_", "np.intp")
Parameters = TypeVarTuple("Parameters")


class Offer(NamedTuple):
    """On what terms a node is had."""

    price: float  # dollars an hour, NaN where unknown
    median_price: float  # the same over a longer time, NaN where unknown
    interruption_rate: float  # how likely it is to vanish, 0..1
    durable: bool  # not a spot node
    leaving: bool = False  # there is a sign that it is about to be taken away


@dataclass(frozen=True, eq=False)
class Troubles:
    """How starts of pods went; a new one with all news."""

    shares: Mapping[str, float] = field(default_factory=dict)  # of starts with trouble, by node; 0 where none


_NO_TROUBLES = Troubles()


@dataclass(frozen=True, kw_only=True, eq=False)
class Cluster:
    """All nodes and what is on them, whichever of them are candidates."""

    table: NodeTable
    durable: Mask  # (N,) of all nodes
    leaving: Mask  # (N,) of all nodes: about to be taken away
    placed: Placed
    roster: Roster
    namespaces: Mapping[str, Namespace]
    guide: Guide | None = None  # of the standing plan, while there is one that may be followed
    troubles: Troubles = _NO_TROUBLES
    to_come: Mapping[str, int] | None = None  # requests of all that will be placed soon, where that is known

    def groups_of_workload(self, workload: str) -> Sequence[PodGroup]:
        """The groups of the pods of this workload."""
        groups = self.placed.groups
        return [group for group in self.placed.group_index.of_workload(workload) if group in groups]

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
class Supply(Memoised):
    """What all N nodes have and on what terms, whichever pods are on them.

    It lasts until a node or an offer changes. R resources are the rows of the two-dimensional columns:
    resource-major, because rules look at one resource of all nodes and not at all resources of one node.
    """

    rows: Rows  # (N,) 0, 1, 2, ...
    resource_rows: Mapping[str, int]
    allocatable: Amounts  # (R, N) cpu in millicores, all others in whole units
    price: Floats  # (N,) dollars an hour, NaN where unknown
    median_price: Floats  # (N,) the same over a longer time
    interruption_rate: Floats  # (N,) how likely it is to vanish, 0..1
    durable: Mask  # (N,) not a spot node
    leaving: Mask  # (N,) about to be taken away

    @property
    def offers(self) -> Floats:
        """(5, N) a copy, in the order of an Offer's fields."""
        return np.array([getattr(self, field) for field in Offer._fields], np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """All N nodes, and what the pods leave of them."""

    supply: Supply
    free: Amounts  # (R, N) in the units of `allocatable`; negative where a node is overcommitted
    changed: Mapping[int, Amounts] = field(default_factory=dict)  # (R,) each, in place of a column of `free`

    @cached_property
    def merged(self) -> Amounts:
        """(R, N) `free` with what has changed."""
        merged = self.free.copy()
        for row, amounts in self.changed.items():
            merged[:, row] = amounts
        return frozen(merged)

    def with_limits(self, pods: Iterable[Pod]) -> "Columns":
        """With a row for each limit of these pods that no pod on a node has, of resources that nodes have."""
        known = self.supply.resource_rows
        every = dict.fromkeys(key for pod in pods for key in pod.counted if _is_limit(key, known))
        new = [key for key in every if key not in known]
        rows = {**known, **{key: len(known) + number for number, key in enumerate(new)}}
        allocatable = _padded(self.supply.allocatable, len(new))
        supply = replace(self.supply, resource_rows=rows, allocatable=frozen(allocatable))
        changed = {row: _padded(amounts, len(new)) for row, amounts in self.changed.items()}
        return Columns(supply=supply, free=frozen(_padded(self.free, len(new))), changed=changed)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes(Memoised):
    """Some or all nodes of a cluster: each column is cut out of that of all nodes when a rule asks for it."""

    max_kept: ClassVar[int] = 2  # what rules share is of one pod

    rows: Rows  # (N,) in the columns and in the tables of `cluster`
    columns: Columns  # of all nodes
    cluster: Cluster

    def __len__(self) -> int:
        return self.rows.size

    @property
    def resource_rows(self) -> Mapping[str, int]:
        return self.columns.supply.resource_rows

    @cached_property
    def allocatable(self) -> Amounts:
        return frozen(self._cut(self.columns.supply.allocatable))

    @cached_property
    def free(self) -> Amounts:
        return frozen(self._cut_free(None))

    @cached_property
    def price(self) -> Floats:
        return frozen(self._cut(self.columns.supply.price))

    @cached_property
    def median_price(self) -> Floats:
        return frozen(self._cut(self.columns.supply.median_price))

    @cached_property
    def interruption_rate(self) -> Floats:
        return frozen(self._cut(self.columns.supply.interruption_rate))

    @cached_property
    def durable(self) -> Mask:
        return frozen(self._cut(self.columns.supply.durable))

    def free_of(self, resource: str) -> Amounts | None:
        """(N,) what is left of one resource: most rules look at few of many. None where no node has any."""
        row = self.resource_rows.get(resource)
        return None if row is None else self._cut_free(row)

    def of_supply(
        self, make: Callable[[Supply, *Parameters], NDArray[Number]], *parameters: *Parameters
    ) -> NDArray[Number]:
        """(..., N) what is made of the supply alone, and so only once for all pods that ask alike."""
        return self._cut(self.columns.supply.derived(make, *parameters))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Made when asked for: no rule needs them, and thousands of names take longer than all rules."""
        return self._named(self.rows)

    def names_at(self, indices: Sequence[int] | slice) -> tuple[str, ...]:
        return self._named(self.rows[indices])

    def take(self, rows: Rows) -> "Nodes":
        """These rows as nodes of their own, in this order."""
        return Nodes(rows=frozen(self.rows.take(rows)), columns=self.columns, cluster=self.cluster)

    def taken(self, pods: Iterable[Pod], by: int = 1) -> "Nodes":
        """The same nodes, with less room by what these pods ask for on the nodes that they name."""
        pods = list(pods)
        row_of, resource_rows = self.cluster.table.row_of, self.resource_rows
        columns = self.columns
        free = dict(columns.changed)
        own: set[int] = set()  # rows of which this has a copy; the others are shared with those before
        for pod in pods:
            node_row = row_of.get(pod.node_name)
            if node_row is None:
                continue
            if node_row not in own:
                own.add(node_row)
                free[node_row] = free.get(node_row, columns.free[:, node_row]).copy()
            for resource, amount in pod.counted.items():
                row = resource_rows.get(resource)
                if row is not None:
                    free[node_row][row] -= by * amount
                elif _is_limit(resource, resource_rows):  # of anything else no node has any, and no rule asks
                    return replace(self, columns=columns.with_limits(pods)).taken(pods, by)
        return replace(self, columns=replace(columns, changed=free)) if free else self

    def _named(self, rows: Rows) -> tuple[str, ...]:
        names = self.cluster.table.names
        return tuple([names[row] for row in rows.tolist()])

    def _cut_free(self, resource: int | None) -> Amounts:
        """One row, or all of them."""
        columns = self.columns
        few = len(self) <= _FEW
        free = columns.free if few or not columns.changed else columns.merged
        cut = self._cut(free if resource is None else free[resource])
        if columns.changed and few:
            cut = cut.copy()
            for row in columns.changed.keys() & set(self.rows.tolist()):
                amounts = columns.changed[row]
                cut.T[self.rows == row] = amounts if resource is None else amounts[resource]
        return cut

    def _cut(self, column: NDArray[Number]) -> NDArray[Number]:
        return column if self.rows is self.columns.supply.rows else column.take(self.rows, axis=-1)


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
        row_of = self.row_of
        changed = [pod for pod in pods if pod.node_name in row_of and not pod.finished]
        if not changed:
            return self
        nodes = self.nodes.taken(changed, by)
        before = self.nodes.cluster
        cluster = replace(
            before, placed=before.placed.changed(changed, by), roster=before.roster.changed(changed, by)
        )
        return replace(self, nodes=replace(nodes, cluster=cluster))


def _padded(amounts: Amounts, resources: int) -> Amounts:
    return np.pad(amounts, [(0, resources), *[(0, 0)] * (amounts.ndim - 1)])


def frozen(column: NDArray[Number]) -> NDArray[Number]:
    column.setflags(write=False)
    return column


def _is_limit(key: str, resource_rows: Mapping[str, int]) -> bool:
    """Of a resource that some node has: pods may name any number of others."""
    return key.startswith(LIMITS) and key.removeprefix(LIMITS) in resource_rows
