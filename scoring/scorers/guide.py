from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Scores, uniform
from scoring.scorers.price import dominant_share
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.guide import Columns, Guide, columns
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Supply, frozen
from tradewind.cluster.table import NodeTable

_NEUTRAL = 0.0
# What a node loses of its score because the plan can do without it, and because nothing is on it.
_DRAINED, _EMPTY = 0.15, 0.25
# Of what nobody will use of a node that the pod would open.
_OPENING = 0.5


@dataclass(frozen=True)
class GuideScore:
    """Favours nodes as the standing plan does: where room is worth least, and nodes that it fills.

    The best bid / the node's bid, where a bid is the pod's part of what the node is worth: all that it has by
    the plan's bid prices, and never less than its price. So pods keep off room that others will need more,
    and off nodes of another shape. Where it is known who is to come, a node that the pod would open costs
    half of what neither it nor they will use beside: the last pods of a burst open small nodes. 0.15 less if
    the plan can do without the node, and 0.25 less while no pod is on it.
    Pods of a priority of `high` or more have only durable nodes to choose from: all others score 0.

    A node of which nothing is known counts as the median. Without a guide, or where all candidates are such,
    all nodes are equal.
    """

    name: ClassVar[str] = "guide"

    high: int = 1000

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        guide = nodes.cluster.guide
        if guide is None or not len(nodes):
            return uniform(len(nodes), _NEUTRAL)
        told = nodes.cluster.table.derived(_columns, guide, tuple(nodes.resource_rows))
        bids, kept, places = nodes.of_supply(_terms, told, tuple(pod.requests.items()))
        free = nodes.free_of("pods")
        empty = None if free is None else free >= places
        to_come = nodes.cluster.to_come
        if empty is not None and to_come is not None and empty.any():
            bids = np.where(empty, bids + _OPENING * _unused(nodes, bids, to_come), bids)
        lowest = float(bids.min())
        if np.isnan(lowest):
            unknown = np.isnan(bids)
            if unknown.all():
                return uniform(len(nodes), _NEUTRAL)
            bids = np.where(unknown, np.median(bids[~unknown]), bids)
            lowest = float(bids.min())
        scores = lowest / bids if lowest > 0 else np.where(bids > 0, 0.0, 1.0)
        scores *= kept if empty is None else kept - _EMPTY * empty
        if pod.priority >= self.high:
            scores = np.where(nodes.durable, scores, 0.0)
        return scores


def _terms(supply: Supply, told: Columns, requests: tuple[tuple[str, int], ...]) -> Scores:
    """(3, N) all that depends on the nodes and what is asked alone, so that a pod costs few operations.

    The bid in dollars an hour, NaN if nothing is known; what the role leaves of the score; how many places
    for pods a node has that has only its own.
    """
    worth = np.fmax(np.add.reduce(told.bids * supply.allocatable), supply.price)  # by price, if not guided
    bids = worth * dominant_share(supply.allocatable, supply.resource_rows, requests)
    row = supply.resource_rows.get("pods")
    places = np.full(worth.size, np.inf) if row is None else supply.allocatable[row] - told.own_pods
    return frozen(np.stack([bids, 1 - _DRAINED * told.drain, places]))


def _unused(nodes: Nodes, bids: Scores, to_come: Mapping[str, int]) -> Scores:
    """(N,) dollars an hour of each node's price that neither the pod nor those to come account for."""
    used = dominant_share(nodes.allocatable, nodes.resource_rows, to_come.items())
    return np.fmax(nodes.price * (1 - used) - bids, 0.0)  # 0 where the price is not known


def _columns(table: NodeTable, guide: Guide, resources: tuple[str, ...]) -> Columns:
    return columns(guide, table, resources)
