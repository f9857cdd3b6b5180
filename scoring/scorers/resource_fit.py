from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cluster.objects import Pod
from cluster.snapshot import Nodes
from scoring.formulas import Formula
from scoring.rules import Scores


@dataclass(frozen=True)
class ResourceFit:
    """Favours the node that the pod leaves with the least excess, so that nodes fill up one after another.

    1 - mean over the resources of (free - request) / allocatable. The literal formula is that mean itself,
    which favours the emptiest node.
    """

    name: ClassVar[str] = "resource_fit"

    resources: tuple[str, ...] = ("cpu", "memory")
    formula: Formula = "intended"

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        excess = np.zeros(len(nodes))
        for resource in self.resources:
            excess += _excess(resource, pod, nodes)
        mean = excess / max(1, len(self.resources))
        return np.clip(mean if self.formula == "literal" else 1 - mean, 0, 1)


def _excess(resource: str, pod: Pod, nodes: Nodes) -> Scores:
    """(N,) share of the node that the pod would leave free.

    A node without the resource has none to waste; one that the pod does not fit on counts as all waste.
    """
    row = nodes.resource_rows.get(resource)
    if row is None:
        return np.zeros(len(nodes))
    left = nodes.free[row] - pod.requests.get(resource, 0)
    total = nodes.allocatable[row]
    left = np.where(left < 0, total, left)
    share = np.zeros(len(nodes))
    np.divide(left, total, out=share, where=total > 0)
    return share
