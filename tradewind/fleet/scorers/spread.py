from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Spread:
    """Favours sites with most to spare: the smallest free share of what is asked for."""

    name: ClassVar[str] = "spread"

    def score(self, candidates: Candidates) -> Floats:
        least = np.ones(len(candidates))
        for resource, _ in candidates.needs or ():
            total = candidates.column(candidates.sites.total[resource])
            free = candidates.column(candidates.sites.total_free[resource])
            np.minimum(least, np.divide(free, total, out=np.zeros(len(total)), where=total > 0), out=least)
        return np.clip(least, 0, 1)
