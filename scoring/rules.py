"""What a rule is. Each is a frozen dataclass whose fields are its parameters."""

from typing import ClassVar, Protocol

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
