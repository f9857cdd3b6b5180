from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.scorers.equivalence import STILL, balance
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Equivalence:
    """Favours sites that are left with the ratio of free resources that they had when they were empty.

    As the scorer of the same name for nodes, over the sums of a site. Where the request brings some sites
    closer to balance, those come first, the one most out of balance ahead; else the one that stays closest.
    """

    name: ClassVar[str] = "equivalence"

    resources: tuple[str, ...] = ("cpu", "memory")

    def score(self, candidates: Candidates) -> Floats:
        sites, request = candidates.sites, candidates.request
        rows = [sites.resources[name] for name in self.resources if name in sites.resources]
        if len(rows) < 2:  # noqa: PLR2004  one alone is always in balance
            return np.ones(len(candidates))
        total = candidates.column(sites.total[rows])
        free = candidates.column(sites.total_free[rows])
        taken = np.array(
            [[float(request.requests.get(name, 0))] for name in self.resources if name in sites.resources]
        )
        after = free - taken * np.minimum(candidates.room, request.replicas)
        now_balance = balance(_shares(free, total))
        after_balance = balance(_shares(after, total))
        closer = after_balance > now_balance + STILL
        if not closer.any():
            return after_balance
        return np.where(closer, 1 - now_balance / 2, after_balance / 2)


def _shares(free: Floats, total: Floats) -> Floats:
    """(K, S) of each resource, what is free of it; a site with nothing left of anything is in balance."""
    shares = np.divide(free, total, out=np.ones(free.shape), where=total > 0)
    return np.maximum(shares, 2.0**-500)
