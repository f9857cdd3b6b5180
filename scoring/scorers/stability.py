from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Scores
from scoring.scorers.price import price_ratio
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Supply, frozen


@dataclass(frozen=True)
class Stability:
    """Favours the node that is least likely to vanish, the more so the dearer it is just now.

    1 - min(1, interruption rate x price / median price): the penalty of the proposal, turned around, which
    differs from subtracting it only by a constant.
    """

    name: ClassVar[str] = "stability"

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        return nodes.of_supply(_stability)


def _stability(supply: Supply) -> Scores:
    return frozen(1 - np.minimum(1, supply.interruption_rate * price_ratio(supply)))
