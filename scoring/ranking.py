"""Totals to the 0..10 that kube-scheduler takes from an extender."""

from scoring.rules import Scores
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray

TOP = 10

Levels = NDArray["np.int64"]


def levels(totals: Scores) -> Levels:
    """Whole levels 0..10 that keep the order.

    The best node gets 10 and no worse one does, however close, so that the choice survives the rounding;
    equal totals get equal levels; the others lie between the worst at 0 and the best by their distance.
    """
    if not totals.size:
        return np.zeros(0, np.int64)
    best, worst = totals.max(), totals.min()
    if best == worst:
        return np.full(totals.shape, TOP, np.int64)
    spread: Levels = np.minimum(TOP * ((totals - worst) / (best - worst)), TOP - 1).astype(np.int64)
    spread += totals == best
    return spread
