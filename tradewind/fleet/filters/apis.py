from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class Apis:
    """The site serves the workload's API; one that does not say what it serves is believed to."""

    name: ClassVar[str] = "apis"
    reason: ClassVar[str] = "did not serve the workload's API"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = False

    def feasible(self, candidates: Candidates) -> Mask:
        api = candidates.request.api
        if not api:
            return np.ones(len(candidates), np.bool_)
        served = candidates.sites.apis
        verdicts = np.array([not apis or api in apis for apis in served.values], np.bool_)
        return verdicts.take(served.codes.take(candidates.rows))
