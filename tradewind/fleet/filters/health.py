from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class Ready:
    """Karmada calls the cluster Ready, and it is not being removed."""

    name: ClassVar[str] = "ready"
    reason: ClassVar[str] = "were not ready"
    keeps: ClassVar[bool] = True  # a short silence; whoever gives a site up says so in the request

    def feasible(self, candidates: Candidates) -> Mask:
        return candidates.sites.ready.take(candidates.rows)


@dataclass(frozen=True)
class Summarised:
    """The site has published a summary that can be read, and not too long ago."""

    name: ClassVar[str] = "summary"
    reason: ClassVar[str] = "had no summary, or an old or broken one"
    keeps: ClassVar[bool] = True

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

    max_error_rate: float = 0.5

    def feasible(self, candidates: Candidates) -> Mask:
        return candidates.column(candidates.sites.error_rate) <= self.max_error_rate


@dataclass(frozen=True)
class Excluded:
    """The site was not the one that failed to place this request a while ago."""

    name: ClassVar[str] = "excluded"
    reason: ClassVar[str] = "could not place it a while ago"
    keeps: ClassVar[bool] = True

    def feasible(self, candidates: Candidates) -> Mask:
        row_of = candidates.sites.row_of
        excluded = [row_of[name] for name in candidates.request.excluded if name in row_of]
        return ~np.isin(candidates.rows, excluded)
