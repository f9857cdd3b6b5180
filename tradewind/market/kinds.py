"""Which nodes are alike: of one type, on the same terms, and of one shape."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.cluster.snapshot import Floats
from tradewind.market.pools import LINUX, ON_DEMAND, SPOT, Attached, Shape, is_accelerated


def other_terms(capacity_type: str) -> str:
    return ON_DEMAND if capacity_type == SPOT else SPOT


class Kind(NamedTuple):
    instance_type: str  # empty where the node does not tell
    capacity_type: str
    shape: Shape
    os: str = LINUX
    attached: Attached | None = None

    @property
    def accelerated(self) -> bool:
        """Its price is that of its accelerators more than of its cores."""
        return self.attached is not None or is_accelerated(self.shape)

    @property
    def other_terms(self) -> "Kind":
        return self._replace(capacity_type=other_terms(self.capacity_type))


class Kinds:
    """The kinds of some nodes. There are few kinds and many nodes: what depends on the kind is done once."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        ids = np.fromiter(map(id, kinds), np.uint64, len(kinds))  # hashing thousands of kinds takes long
        _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        code_of: dict[Kind, int] = {}
        codes = [code_of.setdefault(kinds[row], len(code_of)) for row in first.tolist()]
        self._kinds = list(code_of)
        self._codes = np.array(codes, np.intp).take(inverse)

    def column(self, value_of: Callable[[Kind], float]) -> Floats:
        """(N,) the value of each node's kind."""
        return np.array([value_of(kind) for kind in self._kinds], np.float64).take(self._codes)

    def groups(self, values: Floats) -> Iterator[tuple[Kind, Floats]]:
        """The values above 0 of the nodes of each kind."""
        order = np.argsort(self._codes, kind="stable")
        bounds = np.searchsorted(self._codes[order], np.arange(len(self._kinds) + 1))
        ordered = values[order]
        for kind, start, end in zip(self._kinds, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found = ordered[start:end]
            yield kind, found[found > 0]  # NaN is not above 0
