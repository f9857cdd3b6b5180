"""What a rule is. Each is a frozen dataclass whose fields are its parameters."""

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.objects import Pod
from cluster.snapshot import Nodes

Mask = NDArray[np.bool_]
Scores = NDArray[np.float64]


class Filter(Protocol):
    """Which nodes may take the pod."""

    name: ClassVar[str]  # key in the configuration, label in the metrics
    reason: ClassVar[str]  # what people read in the pod's events: one constant sentence, nothing that varies
    resolvable: ClassVar[bool]  # could evicting pods make the node pass?

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask: ...


class Scorer(Protocol):
    """How good each node is for the pod: (N,) in [0, 1], higher is better."""

    name: ClassVar[str]

    def score(self, pod: Pod, nodes: Nodes) -> Scores: ...


def clipped(scores: Scores) -> Scores:
    """Within 0 and 1; numpy's own clip takes three times as long over some hundred nodes."""
    return np.minimum(np.maximum(scores, 0), 1)


def shares(amounts: NDArray[Any] | int, totals: NDArray[np.int64], otherwise: float) -> Scores:
    """(N,) each amount in shares of its total; `otherwise` where there is none.

    Nearly always there is some everywhere, and a division without exceptions takes a third of the time.
    """
    some = totals > 0
    if some.all():
        found: Scores = amounts / totals
        return found
    found = np.full(totals.shape, otherwise)
    np.divide(amounts, totals, out=found, where=some)
    return found
