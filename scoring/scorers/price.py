from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.formulas import Formula
from scoring.rules import Scores, uniform
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Supply, frozen


@dataclass(frozen=True)
class Price:
    """Favours the node on which the pod costs least.

    m / (m + c), where c is what the pod costs on that node an hour, and m the median c of the candidates:
    1/2 at the median, towards 1 when cheaper, towards 0 when dearer, and the same in any currency. A node
    without a known price counts as costing the median: neither cheap nor dear.

    The literal formula, 1 - median price / price of the node over time, favours a node that is dearer than it
    used to be; below 0 it counts as 0.
    """

    name: ClassVar[str] = "price"

    formula: Formula = "intended"

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        if self.formula == "literal":
            return nodes.of_supply(_risen)
        cost = pod_cost(pod, nodes)
        unknown = np.isnan(cost)
        unknown_count = np.count_nonzero(unknown)
        if unknown_count == cost.size:
            return uniform(cost.size, 0.5)
        median = _median(cost[~unknown] if unknown_count else cost)
        if unknown_count:
            cost = np.where(unknown, median, cost)
        return median / (median + cost) if median > 0 else (cost <= 0).astype(np.float64)


def _risen(supply: Supply) -> Scores:
    return frozen(np.clip(1 - 1 / price_ratio(supply), 0, 1))


def price_ratio(supply: Supply) -> Scores:
    """(N,) the price now to the median over time; 1 where either is unknown or nothing."""
    known = (supply.price > 0) & (supply.median_price > 0)
    return np.divide(supply.price, supply.median_price, out=np.ones(known.size), where=known)


def pod_cost(pod: Pod, nodes: Nodes) -> Scores:
    """(N,) dollars an hour: the node's price times the largest share of any resource that the pod takes.

    The share counts the pod itself as one of the node's pod places, so that a pod without requests costs
    something too.
    """
    return nodes.of_supply(_cost, tuple(pod.requests.items()))


def _cost(supply: Supply, requests: tuple[tuple[str, int], ...]) -> Scores:
    share = np.zeros(supply.rows.size)
    for resource, request in requests:
        row = supply.resource_rows.get(resource)
        if row is not None and request > 0:
            total = supply.allocatable[row]
            taken = np.divide(request, total, out=np.ones(total.size), where=total > 0)
            np.maximum(share, taken, out=share)
    return frozen(supply.price * np.minimum(share, 1))


def _median(costs: Scores) -> float:
    """As numpy's own, which takes five times as long over some hundred values."""
    middle = costs.size // 2
    ordered = costs.copy()
    if costs.size % 2:
        ordered.partition(middle)
        return float(ordered[middle])
    ordered.partition((middle - 1, middle))
    return float(ordered[middle - 1] + ordered[middle]) / 2
