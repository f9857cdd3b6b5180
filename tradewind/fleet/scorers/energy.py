from dataclasses import dataclass
from typing import ClassVar

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.scorers.median import against, median_of
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Energy:
    """Favours sites where a core hour emits least: m / (m + g), g watts a core times grams of CO2 a kWh.

    A site that does not say counts as the median m.
    """

    name: ClassVar[str] = "energy"

    def score(self, candidates: Candidates) -> Floats:
        grams = candidates.column(candidates.sites.grams)
        return against(median_of(grams), grams)
