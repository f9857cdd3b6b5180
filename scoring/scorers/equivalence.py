from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cluster.objects import Pod
from cluster.snapshot import Nodes
from scoring.rules import Scores

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
        shares, requests = self._shares(pod, nodes)
        now, after = _deviation(shares), _deviation(np.maximum(shares - requests, 0))
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
                np.divide(np.maximum(nodes.free[row], 0), total, out=free[k], where=total > 0)
                np.divide(pod.requests.get(resource, 0), total, out=requested[k], where=total > 0)
        return free, requested


def _deviation(shares: Scores) -> Scores:
    """(N,) 0 in balance, 1 where only one resource is left; a node with nothing left is in balance."""
    length = np.sqrt((shares * shares).sum(axis=0))
    cosine = np.ones(shares.shape[1])
    np.divide(shares.sum(axis=0), length * np.sqrt(len(shares)), out=cosine, where=length > 0)
    worst = 1 - 1 / np.sqrt(len(shares))
    return np.clip((1 - cosine) / worst, 0, 1) if worst > 0 else np.zeros(shares.shape[1])
