from dataclasses import dataclass
from typing import ClassVar

import msgspec

from scoring.filters.taints import tolerable
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class Tolerations:
    """The placement tolerates every taint of the cluster that keeps workloads away.

    What is there stays: Karmada itself evicts from clusters with a NoExecute taint.
    """

    name: ClassVar[str] = "tolerations"
    reason: ClassVar[str] = "had untolerated cluster taint(s)"
    keeps: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        request = candidates.request
        as_pod = msgspec.structs.replace(request.pod, tolerations=request.placement.cluster_tolerations or ())
        return tolerable(as_pod, candidates.sites.table, comparisons=False).take(candidates.rows)
