from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.sites import Floats


@dataclass(frozen=True)
class Stability:
    """Favours sites whose nodes stay: 1 - the mean interruption rate of the places that suit the request."""

    name: ClassVar[str] = "stability"

    def score(self, candidates: Candidates) -> Floats:
        rate = candidates.sites.rate.take(candidates.rows, axis=0)
        expected = (rate * candidates.row_room).sum(axis=1)
        mean: Floats = np.divide(
            expected, candidates.room, out=np.zeros(len(candidates)), where=candidates.room > 0
        )
        return 1 - mean
