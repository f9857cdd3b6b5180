from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Mask, Scores
from scoring.scorers.price import price_ratio
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Supply, frozen


@dataclass(frozen=True)
class Stability:
    """Favours the node that is least likely to vanish, the more so the dearer it is just now.

    1 - min(1, interruption rate x price / median price): the penalty of the proposal, turned around, which
    differs from subtracting it only by a constant.

    Where no price is known on one of the two terms, nothing says what the calmer node costs: an on-demand
    node then scores no better than the best spot node beside it.
    """

    name: ClassVar[str] = "stability"

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        scores = nodes.of_supply(_stability)
        if not nodes.columns.supply.derived(_some_unpriced)[0]:
            return scores
        spot = ~nodes.durable
        if not spot.any():
            return scores
        unpriced = np.isnan(nodes.price)
        capped = nodes.durable & (unpriced | unpriced[spot].all())
        return np.where(capped, np.minimum(scores, scores[spot].max()), scores)


def _stability(supply: Supply) -> Scores:
    return frozen(1 - np.minimum(1, supply.interruption_rate * price_ratio(supply)))


def _some_unpriced(supply: Supply) -> Mask:
    return frozen(np.array([np.isnan(supply.price).any()]))
