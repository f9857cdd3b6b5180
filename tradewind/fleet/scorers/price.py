from dataclasses import dataclass
from typing import ClassVar

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.scorers.median import against
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Price:
    """Favours the site where the next replica costs least: m / (m + c), m the median c of the candidates."""

    name: ClassVar[str] = "price"

    def score(self, candidates: Candidates) -> Floats:
        return against(candidates.median_cost, candidates.cost)
