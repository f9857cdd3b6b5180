from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Scores, uniform
from scoring.scorers.price import pod_cost
from tradewind.cluster.guide import Columns, Guide, columns
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes, Supply
from tradewind.cluster.table import NodeTable

_NEUTRAL = 0.0
# What a node loses of its score each because the plan can do without it and because nothing is on it.
_PART = 0.25


@dataclass(frozen=True)
class GuideScore:
    """Favours nodes as the standing plan does: where room is worth least, and nodes that it fills.

    The best bid / the node's bid, where a bid is what the pod's requests are worth on that node by the plan's
    bid prices, and never less than the pod's part of the node's price. So pods keep off room that others will
    need more. A quarter less if the plan can do without the node, and a quarter less while no pod is on it.
    Pods of a priority of `high` or more have only durable nodes to choose from: all others score 0.

    Without a guide, or where all candidates are unknown to it and have no price, all nodes are equal.
    """

    name: ClassVar[str] = "guide"

    high: int = 1000

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        guide = nodes.cluster.guide
        if guide is None or not len(nodes):
            return uniform(len(nodes), _NEUTRAL)
        told = nodes.cluster.table.derived(_columns, guide, tuple(nodes.resource_rows))
        bids = _bids(pod, nodes, told)
        if bids is None:
            return uniform(len(nodes), _NEUTRAL)
        scores = np.divide(float(bids.min()), bids, out=np.ones(len(nodes)), where=bids > 0)
        free = nodes.free_of("pods")
        empty = free >= nodes.of_supply(_places, told) if free is not None else np.False_
        scores *= 1 - _PART * told.drain[nodes.rows] - _PART * empty
        if pod.priority >= self.high:
            scores = np.where(nodes.durable, scores, 0.0)
        return scores


def _bids(pod: Pod, nodes: Nodes, told: Columns) -> Scores | None:
    """(N,) dollars an hour; a node of which nothing is known counts as the median; None if all are such."""
    asked = tuple(
        (row, amount) for name, row in nodes.resource_rows.items() if (amount := pod.requests.get(name))
    )
    bids: Scores = np.fmax(nodes.of_supply(_worth, told, asked), pod_cost(pod, nodes))
    unknown = np.isnan(bids)
    if not unknown.any():
        return bids
    return None if unknown.all() else np.where(unknown, np.median(bids[~unknown]), bids)


def _worth(_supply: Supply, told: Columns, asked: tuple[tuple[int, int], ...]) -> Scores:
    """(N,) of amounts of resources, by their rows."""
    worth: Scores = told.bids[0] * 0.0  # NaN for nodes that the guide does not know
    for row, amount in asked:
        worth += amount * told.bids[row]
    return worth


def _places(supply: Supply, told: Columns) -> Amounts:
    """(N,) for pods on a node that has only its own."""
    places: Amounts = supply.allocatable[supply.resource_rows["pods"]] - told.own_pods
    return places


def _columns(table: NodeTable, guide: Guide, resources: tuple[str, ...]) -> Columns:
    return columns(guide, table, resources)
