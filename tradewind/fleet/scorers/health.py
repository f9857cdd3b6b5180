from dataclasses import dataclass
from typing import ClassVar

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Health:
    """Favours sites where bindings succeed: 1 - the error rate."""

    name: ClassVar[str] = "health"

    def score(self, candidates: Candidates) -> Floats:
        return 1 - candidates.column(candidates.sites.error_rate)
