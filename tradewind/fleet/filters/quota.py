from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class TenantQuota:
    """What the request adds stays within what the tenant's FederatedResourceQuota leaves."""

    name: ClassVar[str] = "quota"
    reason: ClassVar[str] = "would take the tenant over its quota"
    keeps: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        request = candidates.request
        added = max(0, request.replicas - sum(request.current.values()))
        within = request.quota is None or all(
            added * request.requests.get(name, 0) <= left for name, left in request.quota.items()
        )
        return np.full(len(candidates), within)
