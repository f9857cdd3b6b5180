"""The nodes' own records, and columns that are made of them when somebody first asks.

A table lives as long as no node changes, so what it made for one request serves the next ones too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cluster.objects import Node
from cluster.selectors import holds
from cluster.wire import Requirement

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]


class Domains(NamedTuple):
    """The nodes by the value of one label."""

    codes: Rows  # (N,) index into `values`, -1 for a node without the label
    values: tuple[str, ...]


class NodeTable:
    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        self.nodes = tuple(nodes)
        self.names = tuple(node.name for node in self.nodes)
        self.row_of: Mapping[str, int] = {name: row for row, name in enumerate(self.names)}
        self._domains: dict[str, Domains] = {}

    def domains(self, key: str) -> Domains:
        domains = self._domains.get(key)
        if domains is None:
            domains = self._domains[key] = self._by_label(key)
        return domains

    def satisfying(self, requirements: Iterable[Requirement]) -> Mask:
        """(N,) nodes whose labels meet them all; each distinct value is looked at once."""
        mask = np.ones(len(self.nodes), np.bool_)
        for requirement in requirements:
            codes, values = self.domains(requirement.key)
            verdicts = [holds(requirement, value) for value in (*values, None)]  # -1 finds the last
            mask &= np.array(verdicts, np.bool_)[codes]
        return mask

    def by_record(self, verdict: Callable[[Node], bool]) -> Mask:
        """(N,) a verdict on each node, for what is too rare to have a column."""
        return np.fromiter((verdict(node) for node in self.nodes), np.bool_, len(self.nodes))

    def _by_label(self, key: str) -> Domains:
        code_of: dict[str, int] = {}
        codes = np.full(len(self.nodes), -1, np.intp)
        for row, node in enumerate(self.nodes):
            value = node.labels.get(key)
            if value is not None:
                codes[row] = code_of.setdefault(value, len(code_of))
        codes.setflags(write=False)
        return Domains(codes, tuple(code_of))
