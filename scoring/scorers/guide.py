from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Scores, uniform
from scoring.scorers.price import pod_cost
from tradewind.cluster.guide import Columns, Guide, columns
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
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
        resources = tuple(nodes.resource_rows)
        told = nodes.cluster.table.derived(_columns, guide, resources)
        bids = _bids(pod, nodes, told, resources)
        if bids is None:
            return uniform(len(nodes), _NEUTRAL)
        best = float(bids.min())
        scores = np.divide(best, bids, out=np.ones(len(nodes)), where=bids > 0)
        placed = nodes.free_of("pods")
        total = nodes.allocatable[nodes.resource_rows["pods"]]
        empty = total - placed <= told.own_pods[nodes.rows] if placed is not None else np.False_
        scores = scores * (1 - _PART * told.drain[nodes.rows] - _PART * empty)
        if pod.priority >= self.high:
            scores = np.where(nodes.durable, scores, 0.0)
        return scores


def _bids(pod: Pod, nodes: Nodes, told: Columns, resources: tuple[str, ...]) -> Scores | None:
    """(N,) dollars an hour; a node of which nothing is known counts as the median; None if all are such."""
    asked = np.array([pod.requests.get(resource, 0) for resource in resources], np.float64)
    bids: Scores = np.fmax(asked @ told.bids[:, nodes.rows], pod_cost(pod, nodes))
    unknown = np.isnan(bids)
    if unknown.all():
        return None
    return np.where(unknown, np.median(bids[~unknown]), bids) if unknown.any() else bids


def _columns(table: NodeTable, guide: Guide, resources: tuple[str, ...]) -> Columns:
    return columns(guide, table, resources)
