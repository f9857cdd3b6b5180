"""The cluster at one moment, as read-only columns that any number of readers may share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Amounts = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """N nodes as columns; R resources as the rows of the two-dimensional ones.

    Resource-major, because rules look at one resource of all nodes and not at all resources of one node.
    """

    names: Sequence[str]
    resource_rows: Mapping[str, int]
    allocatable: Amounts  # (R, N) cpu in millicores, all others in whole units
    requested: Amounts  # (R, N) the same units, by the pods on the node
    price: Floats  # (N,) dollars an hour, NaN where unknown

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def free(self) -> Amounts:
        """(R, N) what is left; negative where a node is overcommitted."""
        return frozen(self.allocatable - self.requested)

    def take(self, rows: Rows) -> "Nodes":
        """These rows as nodes of their own, in this order."""
        return replace(
            self,
            names=[self.names[row] for row in rows.tolist()],
            allocatable=frozen(self.allocatable.take(rows, axis=1)),
            requested=frozen(self.requested.take(rows, axis=1)),
            price=frozen(self.price.take(rows)),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    generation: int
    nodes: Nodes
    row_of: Mapping[str, int]


def frozen(column: NDArray[Number]) -> NDArray[Number]:
    column.setflags(write=False)
    return column
