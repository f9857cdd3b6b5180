from dataclasses import dataclass
from typing import ClassVar

from scoring.formulas import Formula
from scoring.rules import Scores
from scoring.shares import free_shares
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


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
        _, left = free_shares(pod, nodes, self.resources)
        # A node without the resource has none to waste; one that the pod does not fit on counts as all waste.
        excess: Scores = np.add.reduce(np.where(left < 0, 1.0, left))
        mean = excess / max(1, len(self.resources))
        scores = mean if self.formula == "literal" else 1 - mean
        return scores.clip(0, 1)
