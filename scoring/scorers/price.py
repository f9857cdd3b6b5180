from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from scoring.formulas import Formula, scaled
from scoring.rules import Mask, Scores, uniform
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes, Supply, frozen


@dataclass(frozen=True)
class Price:
    """Favours the node on which the pod costs least.

    m / (m + c), where c is what the pod will cost on that node an hour, and m the median c of the candidates:
    1/2 at the median, towards 1 when cheaper, towards 0 when dearer, and the same in any currency. A node
    without a known price counts as costing the median: neither cheap nor dear. Where the node's price over
    time is known, `history` is how far the price is expected to go back to its median while the pod runs.

    The literal formula, 1 - median price / price of the node over time, favours a node that is dearer than it
    used to be. It has no lower end, so it is scaled to 0..1 over the candidates: the order is the formula's.
    """

    name: ClassVar[str] = "price"

    formula: Formula = "intended"
    history: float = 0.25

    def __post_init__(self) -> None:
        if not 0 <= self.history <= 1:
            raise ValueError(f"history: {self.history} is not within 0 and 1")

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        if self.formula == "literal":
            return scaled(nodes.of_supply(_risen))
        cost = pod_cost(pod, nodes)
        if nodes.columns.supply.derived(_some_moved)[0]:
            cost = cost * nodes.of_supply(_reverting, self.history)
        unknown = np.isnan(cost)
        unknown_count = np.count_nonzero(unknown)
        if unknown_count == cost.size:
            return uniform(cost.size, 0.5)
        median = _median(cost[~unknown] if unknown_count else cost)
        if unknown_count:
            cost = np.where(unknown, median, cost)
        return median / (median + cost) if median > 0 else (cost <= 0).astype(np.float64)


def _some_moved(supply: Supply) -> Mask:
    return frozen(np.array([(price_ratio(supply) != 1).any()]))


def _reverting(supply: Supply, history: float) -> Scores:
    """(N,) the price expected for a pod's life, to the price now."""
    return frozen(1 - history + history / price_ratio(supply))


def _risen(supply: Supply) -> Scores:
    return frozen(1 - 1 / price_ratio(supply))


def price_ratio(supply: Supply) -> Scores:
    """(N,) the price now to the median over time; 1 where either is unknown or nothing."""
    known = (supply.price > 0) & (supply.median_price > 0)
    return np.divide(supply.price, supply.median_price, out=np.ones(known.size), where=known)


def pod_cost(pod: Pod, nodes: Nodes) -> Scores:
    """(N,) dollars an hour: the node's price times the largest share of any resource that the pod takes.

    The share counts the pod itself as one of the node's pod places, so that a pod without requests costs
    something too.
    """
    return nodes.of_supply(supply_cost, tuple(pod.requests.items()))


def supply_cost(supply: Supply, requests: tuple[tuple[str, int], ...]) -> Scores:
    return frozen(supply.price * dominant_share(supply.allocatable, supply.resource_rows, requests))


def dominant_share(
    allocatable: Amounts, resource_rows: Mapping[str, int], requests: Iterable[tuple[str, int]]
) -> Scores:
    """(N,) the largest part of any resource that the requests take of a node, at most all of it."""
    share = np.zeros(allocatable.shape[1])
    for resource, request in requests:
        row = resource_rows.get(resource)
        if row is not None and request > 0:
            total = allocatable[row]
            taken = np.divide(request, total, out=np.ones(total.size), where=total > 0)
            np.maximum(share, taken, out=share)
    return np.minimum(share, 1)


def _median(costs: Scores) -> float:
    """As numpy's own, which takes five times as long over some hundred values."""
    middle = costs.size // 2
    ordered = costs.copy()
    if costs.size % 2:
        ordered.partition(middle)
        return float(ordered[middle])
    ordered.partition((middle - 1, middle))
    return float(ordered[middle - 1] + ordered[middle]) / 2
