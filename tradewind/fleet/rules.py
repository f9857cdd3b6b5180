"""A rule of the fleet: as in `scoring`, with sites for nodes. Adding one is a file, a test and a line,
and for a scorer its weight.
"""

from typing import ClassVar, Protocol

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats, Mask


class SiteFilter(Protocol):
    name: ClassVar[str]
    reason: ClassVar[str]  # a predicate after "site(s)", the same text each time
    keeps: ClassVar[bool]  # may replicas that are there stay, though no more come?
    of_pods: ClassVar[bool]  # does it concern workloads only?

    def feasible(self, candidates: Candidates) -> Mask: ...


class SiteScorer(Protocol):
    """(S,) in [0, 1], higher is better."""

    name: ClassVar[str]

    def score(self, candidates: Candidates) -> Floats: ...
