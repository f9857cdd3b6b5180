from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cluster.objects import Pod
from cluster.snapshot import Nodes
from scoring.formulas import Formula
from scoring.rules import Scores


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
            return np.clip(1 - 1 / price_ratio(nodes), 0, 1)
        cost = pod_cost(pod, nodes)
        unknown = np.isnan(cost)
        if unknown.all():
            return np.full(len(nodes), 0.5)
        some_unknown = unknown.any()
        median = _median(cost[~unknown] if some_unknown else cost)
        if some_unknown:
            cost[unknown] = median
        both = median + cost
        return np.divide(median, both, out=np.ones(len(nodes)), where=both > 0)


def price_ratio(nodes: Nodes) -> Scores:
    """(N,) the price now to the median over time; 1 where either is unknown or nothing."""
    known = (nodes.price > 0) & (nodes.median_price > 0)
    ratio = np.ones(len(nodes))
    np.divide(nodes.price, nodes.median_price, out=ratio, where=known)
    return ratio


def pod_cost(pod: Pod, nodes: Nodes) -> Scores:
    """(N,) dollars an hour: the node's price times the largest share of any resource that the pod takes.

    The share counts the pod itself as one of the node's pod places, so that a pod without requests costs
    something too.
    """
    share = np.zeros(len(nodes))
    for resource, request in pod.requests.items():
        row = nodes.resource_rows.get(resource)
        if row is not None and request > 0:
            total = nodes.allocatable[row]
            taken = np.divide(request, total, out=np.ones(len(nodes)), where=total > 0)
            np.maximum(share, taken, out=share)
    return nodes.price * np.minimum(share, 1)


def _median(costs: Scores) -> float:
    """As numpy's own, which takes five times as long over some hundred values."""
    middle = costs.size // 2
    if costs.size % 2:
        return float(np.partition(costs, middle)[middle])
    ordered = np.partition(costs, (middle - 1, middle))
    return float(ordered[middle - 1] + ordered[middle]) / 2
