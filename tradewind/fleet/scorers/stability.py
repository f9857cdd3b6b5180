from dataclasses import dataclass
from typing import ClassVar

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Stability:
    """Favours sites whose nodes stay: 1 - the mean interruption rate of the places that suit the request."""

    name: ClassVar[str] = "stability"

    def score(self, candidates: Candidates) -> Floats:
        return 1 - candidates.columns.rate
