"""The nodes' columns as their one writer has them, and frozen copies for readers.

A pod that comes or goes changes one entry for each of its resources. Nearly all changes are of pods, so only
what these touch is copied anew.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple, TypedDict

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import LIMITS, Node, Pod
from tradewind.cluster.snapshot import Amounts, Columns, Floats, Offer, Supply, frozen
from tradewind.cluster.table import Mask, NodeTable

_FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_FIRST_CAPACITY = 64
_DURABLE = Offer._fields.index("durable")


class OfferChanges(NamedTuple):
    nodes: int  # that have another offer now
    durable: Sequence[str]  # the names of those that became durable, or no longer are
    opening: bool  # whether pods may wait for one of the changes


class _OfferColumns(TypedDict):
    price: Floats
    median_price: Floats
    interruption_rate: Floats
    durable: Mask
    leaving: Mask


class NodeColumns:
    """Not locked: one thread at a time may call."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._row_of: dict[str, int] = {}
        self._names: list[str] = []
        self._table: NodeTable | None = None  # as handed out, until a node changes
        self._columns: Columns | None = None  # the same, until a node or the known resources change
        self._moved = False  # pods have come or gone since
        self._resource_rows = {name: row for row, name in enumerate(_FIRST_RESOURCES)}
        self._allocatable = np.zeros((len(_FIRST_RESOURCES), _FIRST_CAPACITY), np.int64)
        self._requested = np.zeros_like(self._allocatable)
        self._offers = np.zeros((len(Offer._fields), _FIRST_CAPACITY))

    def write(self, node: Node, offer: Offer, pods: Callable[[str], Iterable[Pod]]) -> None:
        """`pods` says which are on a node."""
        self.nodes[node.name] = node
        self._table = self._columns = None
        row = self._row_of.get(node.name)
        if row is None:
            row = self._append(node.name)
        new = node.allocatable.keys() - self._resource_rows
        amounts = {self._resource_row(name): value for name, value in node.allocatable.items()}
        self._allocatable[:, row] = 0
        for resource_row, value in amounts.items():
            self._allocatable[resource_row, row] = value
        self._offers[:, row] = offer
        self._requested[:, row] = 0
        for pod in pods(node.name):
            self.count(pod, sign=1)
        for name in self._names if new else ():
            if name != node.name:
                self._count_new(new, pods(name))

    def remove(self, name: str) -> bool:
        """Whether there was such a node; the last one gets its row, as the order of nodes has no meaning."""
        if self.nodes.pop(name, None) is None:
            return False
        self._table = self._columns = None
        row, last = self._row_of.pop(name), len(self._names) - 1
        for columns in (self._allocatable, self._requested, self._offers):
            columns[:, row] = columns[:, last]
        moved = self._names.pop()
        if row != last:
            self._names[row] = moved
            self._row_of[moved] = row
        return True

    def count(self, pod: Pod, *, sign: int) -> None:
        """As on its node, or with -1 no longer so; nothing for a node that is not known.

        Only resources that some node has are counted: pods may name any number of others.
        """
        row = self._row_of.get(pod.node_name)
        if row is not None:
            self._moved = True
            for resource, value in pod.counted.items():
                self._request(resource, row, sign * value)

    def _count_new(self, resources: AbstractSet[str], pods: Iterable[Pod]) -> None:
        """What these pods, of one node, ask of resources that no node had."""
        for pod in pods:
            for resource, value in pod.counted.items():
                if resource.removeprefix(LIMITS) in resources:
                    self._request(resource, self._row_of[pod.node_name], value)

    def _request(self, resource: str, row: int, value: int) -> None:
        if resource.removeprefix(LIMITS) in self._resource_rows:
            resource_row = self._resource_row(resource)  # may replace the arrays: look them up after
            self._requested[resource_row, row] += value

    def update_offers(self, nodes: Sequence[Node], offers: Floats) -> OfferChanges:
        """(5, N) in the order of an Offer's fields, for those nodes that are still as they were."""
        same = [index for index, node in enumerate(nodes) if self.nodes.get(node.name) is node]
        rows = np.array([self._row_of[nodes[index].name] for index in same], np.intp)
        before, after = self._offers[:, rows], offers[:, same]
        differs = ~((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=0)
        if not differs.any():
            return OfferChanges(0, (), opening=False)
        self._offers[:, rows] = after
        if self._columns is not None:
            supply = replace(self._columns.supply, **self._offer_columns())
            self._columns = replace(self._columns, supply=supply)
        durable = np.flatnonzero(before[_DURABLE] != after[_DURABLE]).tolist()
        return OfferChanges(
            nodes=int(np.count_nonzero(differs)),
            durable=[nodes[same[index]].name for index in durable],
            opening=bool((before[_DURABLE:] != after[_DURABLE:]).any()),  # durable or leaving
        )

    def freeze(self) -> tuple[NodeTable, Columns]:
        if self._table is None:
            self._table = NodeTable([self.nodes[name] for name in self._names])
        if self._columns is None:
            self._columns = Columns(supply=self._supply(), free=self._free())
        elif self._moved:
            self._columns = Columns(supply=self._columns.supply, free=self._free())
        self._moved = False
        return self._table, self._columns

    def _supply(self) -> Supply:
        count = len(self._names)
        return Supply(
            rows=frozen(np.arange(count)),
            resource_rows=dict(self._resource_rows),
            allocatable=frozen(self._allocatable[:, :count].copy()),
            **self._offer_columns(),
        )

    def _free(self) -> Amounts:
        count = len(self._names)
        return frozen(self._allocatable[:, :count] - self._requested[:, :count])

    def _offer_columns(self) -> _OfferColumns:
        price, median_price, interruption_rate, durable, leaving = self._offers[:, : len(self._names)]
        return {
            "price": frozen(price.copy()),
            "median_price": frozen(median_price.copy()),
            "interruption_rate": frozen(interruption_rate.copy()),
            "durable": frozen(durable.astype(np.bool_)),
            "leaving": frozen(leaving.astype(np.bool_)),
        }

    def _append(self, name: str) -> int:
        row = len(self._names)
        if row == self._offers.shape[1]:
            self._grow(resources=0, nodes=row)
        self._names.append(name)
        self._row_of[name] = row
        return row

    def _grow(self, *, resources: int, nodes: int) -> None:
        self._columns = None
        self._allocatable = np.pad(self._allocatable, ((0, resources), (0, nodes)))
        self._requested = np.pad(self._requested, ((0, resources), (0, nodes)))
        self._offers = np.pad(self._offers, ((0, 0), (0, nodes)))

    def _resource_row(self, resource: str) -> int:
        row = self._resource_rows.get(resource)
        if row is None:
            row = self._resource_rows[resource] = len(self._resource_rows)
            self._grow(resources=1, nodes=0)
        return row
