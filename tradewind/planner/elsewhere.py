"""Why a plan puts a pod on another node than the one that scores highest for it alone.

A score looks at one pod on the cluster as it is; a plan at all pods together, and at what nodes cost that
must be opened. Where they differ, this says what was weighed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tradewind.planner.batch import Batch
from tradewind.planner.plan import Plan
from tradewind.planner.problem import Amounts, Problem

_SAME = 1e-9
_MAX_NAMED = 2


class Elsewhere(NamedTuple):
    favourite: str  # the node that scores highest
    reason: str  # what speaks against it

    def __str__(self) -> str:
        return f"{self.favourite} would score higher, but {self.reason}"


def elsewhere(batch: Batch, plan: Plan, *, priced: bool) -> Mapping[str, Elsewhere]:
    """By namespace/name, the placed pods whose node is not their favourite. `priced`: prices are known."""
    class_of = {str(pod): index for index, group in enumerate(batch.groups) for pod in group.pods}
    row_of = {name: row for row, name in enumerate(batch.problem.node_names)}
    places = [(each.pod, class_of[each.pod], row_of[each.node]) for each in plan.placements]
    weighing = _Weighing(batch.problem, places, priced=priced)
    favourites: dict[int, tuple[int, Mapping[int, float]]] = {}
    found: dict[str, Elsewhere] = {}
    for pod, index, row in places:
        if index not in favourites:
            favourites[index] = _favourite(batch, index)
        best, totals = favourites[index]
        if best >= 0 and best != row and totals[best] > totals.get(row, -np.inf) + _SAME:
            name = batch.problem.node_names[best]
            found[pod] = Elsewhere(name, weighing.reason(pod, index, row, best))
    return found


def _favourite(batch: Batch, index: int) -> tuple[int, Mapping[int, float]]:
    """The row of the node that scores highest for a pod of the class alone, and all scores by row."""
    group, nodes = batch.groups[index], batch.snapshot.nodes
    accepted = np.flatnonzero(group.policy.filter(group.pods[0], nodes).feasible)
    if not accepted.size:
        return -1, {}
    totals = group.policy.total(group.pods[0], nodes.take(accepted))
    best = int(accepted[int(np.argmax(totals))])
    return best, dict(zip(accepted.tolist(), totals.tolist(), strict=True))


class _Weighing:
    def __init__(self, problem: Problem, places: Sequence[tuple[str, int, int]], *, priced: bool) -> None:
        self._problem = problem
        self._priced = priced
        self._pods: dict[int, list[str]] = {}  # placed by the plan, by row
        self._left: Amounts = problem.free.copy()
        for pod, index, row in places:
            self._pods.setdefault(row, []).append(pod)
            self._left[:, row] -= problem.classes[index].requests

    def reason(self, pod: str, index: int, row: int, best: int) -> str:
        problem, asked = self._problem, self._problem.classes[index]
        others = self._pods.get(best, [])
        if others and not bool(((asked.requests <= self._left[:, best]) | (asked.requests == 0)).all()):
            more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
            return f"its room goes to {', '.join(others[:_MAX_NAMED])}{more}"
        if not problem.in_use[best] and not others:
            return self._opening(pod, row, best)
        if not asked.allowed[best]:
            return "a rule about other pods keeps it away"
        dearer = float(asked.cost[best] - asked.cost[row])
        if self._priced and dearer > _SAME:
            return f"interruptions, priority and preferences make it {_dollars(dearer)} dearer"
        return "no cheaper plan was found with it there"

    def _opening(self, pod: str, row: int, best: int) -> str:
        price, name = self._problem.price, self._problem.node_names[row]
        shared = self._problem.in_use[row] or self._pods[row] != [pod]
        if shared:
            return (
                f"opening it costs {_dollars(price[best])}" if self._priced else "it would be one node more"
            )
        if self._priced and price[best] > price[row] + _SAME:
            return f"it costs {_dollars(price[best])}, and {name} {_dollars(price[row])}"
        return "no cheaper plan was found with it there"


def _dollars(amount: float) -> str:
    return f"${amount:.3g}/h"
