from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.filters.taints import tolerated
from tradewind.cluster.wire import Taint
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask

# As Karmada's cluster controller taints it a moment later.
_NOT_READY = Taint("cluster.karmada.io/not-ready", "", "NoSchedule")


@dataclass(frozen=True)
class Ready:
    """The cluster is Ready, or the placement tolerates that it is not."""

    name: ClassVar[str] = "ready"
    reason: ClassVar[str] = "were not ready"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = False

    def feasible(self, candidates: Candidates) -> Mask:
        tolerations = candidates.request.placement.cluster_tolerations or ()
        if tolerated(tolerations, _NOT_READY, comparisons=False):
            return np.ones(len(candidates), np.bool_)
        return candidates.sites.ready.take(candidates.rows)


@dataclass(frozen=True)
class Summarised:
    """The site has published a summary that can be read, and not too long ago."""

    name: ClassVar[str] = "summary"
    reason: ClassVar[str] = "had no summary, or an old or broken one"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = True

    max_age_seconds: float = 120.0

    def feasible(self, candidates: Candidates) -> Mask:
        sites = candidates.sites
        fresh = sites.time.take(candidates.rows) >= candidates.now - self.max_age_seconds
        return sites.usable.take(candidates.rows) & fresh


@dataclass(frozen=True)
class ErrorRate:
    """Not too many of the site's latest bindings failed."""

    name: ClassVar[str] = "error_rate"
    reason: ClassVar[str] = "failed too many bindings"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = True

    max_error_rate: float = 0.5

    def feasible(self, candidates: Candidates) -> Mask:
        return candidates.column(candidates.sites.error_rate) <= self.max_error_rate


@dataclass(frozen=True)
class Excluded:
    """The site was not the one that failed to place this request a while ago."""

    name: ClassVar[str] = "excluded"
    reason: ClassVar[str] = "could not place it a while ago"
    keeps: ClassVar[bool] = True
    of_pods: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        return ~candidates.named(candidates.request.excluded)


@dataclass(frozen=True)
class Evicting:
    """The request is not being evicted from the site, by Karmada's graceful eviction."""

    name: ClassVar[str] = "evicting"
    reason: ClassVar[str] = "were being evicted from"
    keeps: ClassVar[bool] = False
    of_pods: ClassVar[bool] = False

    def feasible(self, candidates: Candidates) -> Mask:
        return ~candidates.named(candidates.request.evicting)
