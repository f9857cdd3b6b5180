import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cluster.objects import Pod
from cluster.snapshot import Nodes
from scoring.rules import Scores, clipped, shares

# Rounding alone must not look like a move.
_STILL = 1e-12


@dataclass(frozen=True)
class Equivalence:
    """Favours nodes that the pod leaves with the same ratio of free resources as when they were empty.

    So no node ends up with plenty of memory and no cpu. The deviation of a node is 1 - the cosine of what is
    free of each resource, in shares of the node, and the same of the empty node. Where the pod brings some
    candidates closer to balance, those come first, the one that is most out of balance now ahead; where it
    brings none closer, the one that stays closest to balance is best.
    """

    name: ClassVar[str] = "equivalence"

    resources: tuple[str, ...] = ("cpu", "memory")

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        free, requests = self._shares(pod, nodes)
        now, after = _deviation(free), _deviation(np.maximum(free - requests, 0))
        balanced = 1 - after
        closer = after < now - _STILL
        if not closer.any():
            return balanced
        return np.where(closer, 0.5 + now / 2, balanced / 2)

    def _shares(self, pod: Pod, nodes: Nodes) -> tuple[Scores, Scores]:
        """(K, N) free and requested shares of the resources that the node has; 1 and 0 of those it lacks."""
        free = np.ones((len(self.resources), len(nodes)))
        requested = np.zeros_like(free)
        for k, resource in enumerate(self.resources):
            row = nodes.resource_rows.get(resource)
            if row is not None:
                total = nodes.allocatable[row]
                free[k] = shares(np.maximum(nodes.free[row], 0), total, 1.0)
                requested[k] = shares(pod.requests.get(resource, 0), total, 0.0)
        return free, requested


def _deviation(free: Scores) -> Scores:
    """(N,) 0 in balance, 1 where only one resource is left; a node with nothing left is in balance."""
    length = np.sqrt(np.add.reduce(free * free))
    cosine = np.ones(free.shape[1])
    np.divide(np.add.reduce(free), length * math.sqrt(len(free)), out=cosine, where=length > 0)
    worst = 1 - 1 / math.sqrt(len(free))
    return clipped((1 - cosine) / worst) if worst > 0 else np.zeros(free.shape[1])
