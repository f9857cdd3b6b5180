from dataclasses import dataclass
from typing import ClassVar

from scoring.filters.taints import tolerating
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
    of_pods: ClassVar[bool] = False

    def feasible(self, candidates: Candidates) -> Mask:
        tolerations = candidates.request.placement.cluster_tolerations or ()
        return tolerating(tolerations, candidates.sites.table, comparisons=False).take(candidates.rows)
