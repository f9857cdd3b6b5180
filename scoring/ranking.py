"""Totals to the 0..10 that kube-scheduler takes from an extender."""

from scoring.rules import Scores
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

TOP = 10

Levels = NDArray["np.int64"]


def chosen(pod: Pod, totals: Scores, nodes: Nodes) -> int | None:
    """Which of several best nodes is to be the only one.

    kube-scheduler takes any of them, and for the next pod any again: it would open several nodes that are
    alike, and fill none. None where the pod has preferences that it can choose by.
    """
    if pod.preferred_nodes or pod.preferred_pods or pod.preferred_spreads or not totals.size:
        return None
    return foremost(totals, nodes)


def foremost(totals: Scores, nodes: Nodes) -> int:
    """The best node; of several the one that comes first in the cluster, however the request has them."""
    best = np.flatnonzero(totals == totals.max())
    return int(best[nodes.rows[best].argmin()])


def levels(totals: Scores, first: int | None = None) -> Levels:
    """Whole levels 0..10 that keep the order.

    The best node gets 10 and no worse one does, however close, so that the choice survives the rounding;
    equal totals get equal levels; the others lie between the worst at 0 and the best by their distance.
    Of several that are best, `first` alone gets 10 and the others 9.
    """
    if not totals.size:
        return np.zeros(0, np.int64)
    best, worst = totals.max(), totals.min()
    if best == worst:
        spread: Levels = np.full(totals.shape, TOP - 1, np.int64)
    else:
        spread = np.minimum(TOP * ((totals - worst) / (best - worst)), TOP - 1).astype(np.int64)
    if first is None:
        spread += totals == best
    else:
        spread[first] += 1
    return spread
