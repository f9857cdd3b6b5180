from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Centroid:
    """Favours sites whose average node has much free: 1 - the mean of Y / X over the resources asked for.

    Y is what a replica takes, X the centroid, what is free on the average node; a share above 1 counts as 1.
    """

    name: ClassVar[str] = "centroid"

    def score(self, candidates: Candidates) -> Floats:
        needs = candidates.needs
        if not needs:
            return np.ones(len(candidates))
        nodes = np.maximum(candidates.column(candidates.sites.nodes), 1)
        shares = np.zeros(len(candidates))
        for resource, amount in needs:
            centroid = candidates.column(candidates.sites.total_free[resource]) / nodes
            shares += np.minimum(np.divide(amount, centroid, out=np.ones(len(nodes)), where=centroid > 0), 1)
        return 1 - shares / len(needs)
