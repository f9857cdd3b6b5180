from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class FeasibleNodes:
    """One of the site's potentially feasible nodes takes a replica whole; the sum over nodes says nothing.

    Where replicas of the request are, there is room for these.
    """

    name: ClassVar[str] = "feasible_nodes"
    reason: ClassVar[str] = "had no node that fits a replica"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        return (candidates.room >= 1) | candidates.having


@dataclass(frozen=True)
class WholeCopy:
    """The site has room for all replicas, where each site gets all of them."""

    name: ClassVar[str] = "whole_copy"
    reason: ClassVar[str] = "had no room for all replicas"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        request = candidates.request
        if not request.everywhere:
            return np.ones(len(candidates), np.bool_)
        return candidates.room >= request.replicas
