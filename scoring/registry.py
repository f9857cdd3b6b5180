"""Every rule there is. Adding one is a file, a test, and a line here."""

from typing import NamedTuple

from scoring.filters.resources import Resources
from scoring.rules import Filter, Scorer
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit


class WeightedScorer(NamedTuple):
    letter: str  # the other name of its weight
    scorer: type[Scorer]
    weight: float  # by default


FILTERS: tuple[type[Filter], ...] = (Resources,)

SCORERS: tuple[WeightedScorer, ...] = (
    WeightedScorer("alpha", ResourceFit, 1.0),
    WeightedScorer("delta", Price, 2.0),
)
