from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Mask, Scores
from scoring.scorers.price import price_ratio
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Supply, frozen


@dataclass(frozen=True)
class Stability:
    """Favours the node that is least likely to vanish, the more so the dearer it is just now.

    1 - penalty / max(1, largest penalty among the candidates), where the penalty is the proposal's: the
    interruption rate x price / median price. Turned around, it differs from subtracting it by a constant.

    Where no price is known on one of the two terms, nothing says what the calmer node costs: an on-demand
    node then scores no better than the best spot node beside it.
    """

    name: ClassVar[str] = "stability"

    def score(self, _pod: Pod, nodes: Nodes) -> Scores:
        scores = nodes.of_supply(_within_1)
        if nodes.columns.supply.derived(_beyond_1)[0]:
            penalty = nodes.of_supply(_penalty)
            scores = 1 - penalty / max(1.0, float(penalty.max(initial=0)))
        if not nodes.columns.supply.derived(_some_unpriced)[0]:
            return scores
        spot = ~nodes.durable
        if not spot.any():
            return scores
        unpriced = np.isnan(nodes.price)
        capped = nodes.durable & (unpriced | unpriced[spot].all())
        return np.where(capped, np.minimum(scores, scores[spot].max()), scores)


def _within_1(supply: Supply) -> Scores:
    return frozen(1 - supply.derived(_penalty))


def _beyond_1(supply: Supply) -> Mask:
    return frozen(np.array([(supply.derived(_penalty) > 1).any()]))


def _penalty(supply: Supply) -> Scores:
    return frozen(supply.interruption_rate * price_ratio(supply))


def _some_unpriced(supply: Supply) -> Mask:
    return frozen(np.array([np.isnan(supply.price).any()]))
