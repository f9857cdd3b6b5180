"""A plan as text and as JSON."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tradewind.cluster.objects import Pod
from tradewind.explain.tables import Column, lines
from tradewind.explain.words import counted, dollars
from tradewind.market.coverage import Coverage
from tradewind.planner.planner import PlanResult

_ROUNDING = 1e-6
_MAX_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class PlanReport:
    planned: PlanResult
    pods: Sequence[Pod]
    pool_prices: Mapping[str, float]  # dollars an hour of a new node
    coverage: Coverage
    bound: float | None  # on what the nodes that are there cost; nodes where there are no prices
    seconds: float

    @property
    def unplaced(self) -> dict[str, str]:
        """Without the pods that a pool's new nodes would take."""
        taken = self.planned.pools
        return {pod: reason for pod, reason in self.planned.plan.unplaced.items() if pod not in taken}

    @property
    def new_nodes_cost(self) -> float:
        return sum(self.pool_prices[pool] * count for pool, count in self.planned.new_nodes.items())

    @property
    def hourly_cost(self) -> float | None:
        """Of nodes in use and new nodes; None where no price is known."""
        return self.planned.plan.hourly_cost + self.new_nodes_cost if self.coverage.priced else None

    def json(self) -> str:
        plan, cost = self.planned.plan, self.hourly_cost
        bound = self.bound if cost is not None else None
        return json.dumps(
            {
                "placements": {each.pod: each.node for each in plan.placements},
                "unplaced": self.unplaced,
                **self._grown(),
                "nodesUsed": plan.nodes_used,
                "hourlyCost": None if cost is None else round(cost, 6),
                "lowerBound": None if bound is None else round(bound, 6),
                "prices": {
                    "nodes": self.coverage.nodes,
                    "known": self.coverage.priced,
                    "estimated": self.coverage.estimated,
                    "unknown": self.coverage.unknown,
                },
                "seconds": round(self.seconds, 3),
                "engine": plan.engine,
            },
            indent=2,
        )

    def text(self) -> str:
        plan, unplaced = self.planned.plan, self.unplaced
        places = {each.pod: each.node for each in plan.placements}
        places |= {pod: f"a new node of pool {pool}" for pod, pool in sorted(self.planned.pools.items())}
        table = [*lines([Column(["POD"], [*places]), Column(["NODE"], [*places.values()])])]
        if unplaced:
            table += ["", "UNPLACED", *self._reasons(unplaced)]
        new = [
            f"{counted(number, 'new node')} of pool {pool}" for pool, number in self.planned.new_nodes.items()
        ]
        used = ", ".join([f"{counted(plan.nodes_used, 'node')} in use", *sorted(new)])
        placed = len(plan.placements) + len(self.planned.pools)
        return "\n".join(
            [
                *table,
                "",
                f"{counted(placed, 'pod')} placed, {len(unplaced)} not; {used}.",
                self._cost(),
                *([] if self.coverage.priced == self.coverage.nodes else [str(self.coverage)]),
                f"Found by {plan.engine} in {self.seconds:.2f} s.",
            ]
        )

    def _grown(self) -> dict[str, Any]:
        if not self.planned.pools:
            return {}
        return {
            "pools": dict(self.planned.pools),
            "newNodes": dict(self.planned.new_nodes),
            "newNodesCost": round(self.new_nodes_cost, 6),
        }

    def _cost(self) -> str:
        cost, bound = self.hourly_cost, self.bound
        new = f" and {_dollars(self.new_nodes_cost)} for new ones" if self.planned.new_nodes else ""
        if cost is None:
            fewest = "" if bound is None else f"; no plan needs fewer than {math.ceil(bound - _ROUNDING)}"
            return f"{counted(self.planned.plan.nodes_used, 'node')} (no prices){new}{fewest}."
        if self.planned.new_nodes:
            return f"{_dollars(cost)}, of which {_dollars(self.new_nodes_cost)} for new nodes."
        below = "" if bound is None else f"; no plan can be below {_dollars(bound)}"
        return f"{_dollars(cost)}{below}."

    def _reasons(self, unplaced: Mapping[str, str]) -> list[str]:
        """One line for each reason, the one with most pods first."""
        workloads = {str(pod): pod.workload or str(pod) for pod in self.pods}
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for pod, reason in sorted(unplaced.items()):
            by_reason[reason].append(pod)
        told = []
        for reason, pods in sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[1])):
            if len(pods) == 1:
                told.append(f"{pods[0]}: {reason}")
                continue
            number = len({workloads.get(pod, pod) for pod in pods})
            named = ", ".join(pods[:_MAX_NAMED]) + (", ..." if len(pods) > _MAX_NAMED else "")
            told.append(f"{counted(len(pods), 'pod')} of {counted(number, 'workload')}: {reason} ({named})")
        return told


def _dollars(amount: float) -> str:
    return dollars(amount, digits=4)
