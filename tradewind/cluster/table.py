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


class LabelTable(Memoised):
    """The labels of nodes, or of pods, as columns."""

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        self._labels = labels
        self._domains: dict[str, Domains[str]] = {}

    def __len__(self) -> int:
        return len(self._labels)

    @cached_property
    def keys(self) -> frozenset[str]:
        """Of all labels."""
        return frozenset[str]().union(*self._labels)

    @cached_property
    def _without_label(self) -> Domains[str]:
        return domains_of([None] * len(self._labels))

    def domains(self, key: str) -> Domains[str]:
        """By the value of this label. Those of a label that is nowhere are one: a pod may ask for any key."""
        if key not in self.keys:
            return self._without_label
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = domains_of(labels.get(key) for labels in self._labels)
        return domains

    def satisfying(self, requirements: Iterable[Requirement]) -> Mask:
        """(N,) those whose labels meet them all; each distinct value is looked at once."""
        mask = np.ones(len(self._labels), np.bool_)
        for requirement in requirements:
            domains = self.domains(requirement.key)
            verdicts = _verdicts(requirement, domains.values)
            mask &= domains.to_nodes(verdicts, otherwise=holds(requirement, None))
        return mask


def _verdicts(requirement: Requirement, values: Sequence[str]) -> list[bool]:
    if requirement.operator in {"In", "NotIn"}:
        wanted, there = frozenset(requirement.values or ()), requirement.operator == "In"
        return [(value in wanted) is there for value in values]
    return [holds(requirement, value) for value in values]


class NodeTable(LabelTable):
    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        super().__init__([node.labels for node in nodes])
        self.nodes = tuple(nodes)
        self.names = tuple(node.name for node in self.nodes)
        self.row_of: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}

    @cached_property
    def taints(self) -> Domains[tuple[Taint, ...]]:
        """By all the taints of a node; those of a pool have the same."""
        return domains_of(node.taints for node in self.nodes)

    @cached_property
    def unschedulable(self) -> Mask:
        """(N,) cordoned nodes."""
        column = np.fromiter((node.unschedulable for node in self.nodes), np.bool_, len(self.nodes))
        column.setflags(write=False)
        return column

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


def domains_of(column: Iterable[_Value | None]) -> Domains[_Value]:
    code_of: dict[_Value, int] = {}
    codes = np.array(
        [-1 if value is None else code_of.setdefault(value, len(code_of)) for value in column], np.intp
    )
    codes.setflags(write=False)
    return Domains(codes, tuple(code_of))
