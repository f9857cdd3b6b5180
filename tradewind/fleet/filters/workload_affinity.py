from dataclasses import dataclass
from typing import ClassVar

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class WorkloadAffinity:
    """The site has the others of the request's affinity group, and none of its anti-affinity group."""

    name: ClassVar[str] = "workload_affinity"
    reason: ClassVar[str] = "didn't match the workload affinity"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = False

    def feasible(self, candidates: Candidates) -> Mask:
        request = candidates.request
        mask = ~candidates.named(request.apart)
        return mask if request.beside is None else mask & candidates.named(request.beside)
