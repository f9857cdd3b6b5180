"""The nodes' own records, and columns that are made of them when somebody first asks.

A table lives as long as no node changes, so what it made for one request serves the next ones too.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Generic, NamedTuple, TypeVar

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.memoised import Memoised
from tradewind.cluster.objects import Node
from tradewind.cluster.selectors import holds
from tradewind.cluster.wire import Requirement, Taint

Mask = NDArray["np.bool_"]
Rows = NDArray["np.intp"]

_Value = TypeVar("_Value", bound=Hashable)


class Domains(NamedTuple, Generic[_Value]):
    """The nodes by what they share: the value of a label, the same taints."""

    codes: Rows  # (N,) index into `values`, -1 for a node that has none
    values: tuple[_Value, ...]

    @property
    def members(self) -> Mask:
        """(N,) nodes that are in some domain."""
        return self.codes >= 0

    def to_nodes(self, verdicts: Sequence[bool] | Mask, *, otherwise: bool = False) -> Mask:
        """(N,) to each node the verdict on its domain, to one outside of all of them `otherwise`."""
        return np.append(np.asarray(verdicts, np.bool_), otherwise).take(self.codes)  # -1 finds the last


class NodeTable(Memoised):
    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        self.nodes = tuple(nodes)
        self.names = tuple(node.name for node in self.nodes)
        self.row_of: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}
        self._domains: dict[str, Domains[str]] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def domains(self, key: str) -> Domains[str]:
        """By the value of this label."""
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = _domains(node.labels.get(key) for node in self.nodes)
        return domains

    @cached_property
    def taints(self) -> Domains[tuple[Taint, ...]]:
        """By all the taints of a node; those of a pool have the same."""
        return _domains(node.taints for node in self.nodes)

    @cached_property
    def unschedulable(self) -> Mask:
        """(N,) cordoned nodes."""
        column = np.fromiter((node.unschedulable for node in self.nodes), np.bool_, len(self.nodes))
        column.setflags(write=False)
        return column

    def satisfying(self, requirements: Iterable[Requirement]) -> Mask:
        """(N,) nodes whose labels meet them all; each distinct value is looked at once."""
        mask = np.ones(len(self.nodes), np.bool_)
        for requirement in requirements:
            domains = self.domains(requirement.key)
            verdicts = [holds(requirement, value) for value in domains.values]
            mask &= domains.to_nodes(verdicts, otherwise=holds(requirement, None))
        return mask

    def rows_of_all(self, names: Sequence[str]) -> Rows:
        """(len(names),) the row of each, -1 for one that is not there."""
        if len(names) < 2:  # noqa: PLR2004  of one name itemgetter makes no tuple
            return np.array([self.row_of.get(name, -1) for name in names], np.intp)
        try:
            return np.fromiter(itemgetter(*names)(self.row_of), np.intp, len(names))
        except KeyError:
            return np.array([self.row_of.get(name, -1) for name in names], np.intp)

    def rows(self, names: Iterable[str]) -> Rows:
        """The rows of those of them that are known, in no order."""
        row_of = self.row_of
        return np.array([row_of[name] for name in names if name in row_of], np.intp)


def _domains(column: Iterable[_Value | None]) -> Domains[_Value]:
    code_of: dict[_Value, int] = {}
    codes = np.array(
        [-1 if value is None else code_of.setdefault(value, len(code_of)) for value in column], np.intp
    )
    codes.setflags(write=False)
    return Domains(codes, tuple(code_of))
