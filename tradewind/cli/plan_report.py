"""A plan as text and as JSON."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tradewind.cluster.objects import Pod
from tradewind.explain.tables import Column, fitted, lines
from tradewind.explain.words import counted, dollars
from tradewind.market.coverage import Coverage
from tradewind.planner.elsewhere import elsewhere
from tradewind.planner.planner import PlanResult

_ROUNDING = 1e-6
_MAX_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class PlanReport:
    planned: PlanResult
    pods: Sequence[Pod]
    pool_prices: Mapping[str, float | None]  # dollars an hour of a new node, None where unknown
    coverage: Coverage
    bound: float | None  # on what the nodes that are there cost; nodes where there are no prices
    seconds: float

    @property
    def unplaced(self) -> dict[str, str]:
        """Without the pods that a pool's new nodes would take."""
        taken = self.planned.pools
        return {pod: reason for pod, reason in self.planned.plan.unplaced.items() if pod not in taken}

    @cached_property
    def elsewhere(self) -> dict[str, str]:
        """Placed pods that are not where `explain` would rather have them, and why."""
        found = elsewhere(self.planned.batch, self.planned.plan, priced=bool(self.coverage.priced))
        return {pod: str(each) for pod, each in found.items()}

    @property
    def new_nodes_cost(self) -> float | None:
        """None where the price of one is not known."""
        prices = [(self.pool_prices[pool], count) for pool, count in self.planned.new_nodes.items()]
        known = [price * count for price, count in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None

    @property
    def hourly_cost(self) -> float | None:
        """Of nodes in use and new nodes; None where no price is known."""
        new = self.new_nodes_cost
        return self.planned.plan.hourly_cost + new if self.coverage.priced and new is not None else None

    def json(self) -> str:
        plan, cost = self.planned.plan, self.hourly_cost
        bound = self.bound if cost is not None else None
        return json.dumps(
            {
                "placements": {each.pod: each.node for each in plan.placements},
                "unplaced": self.unplaced,
                **({"elsewhere": self.elsewhere} if self.elsewhere else {}),
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

    def text(self, width: int | None = None) -> str:
        """`width` is that of a terminal; without one nothing is cut."""
        plan, unplaced = self.planned.plan, self.unplaced
        places = {each.pod: each.node for each in plan.placements}
        places |= {pod: f"a new node of pool {pool}" for pod, pool in sorted(self.planned.pools.items())}
        columns = [Column(["POD"], [*places]), Column(["NODE"], [*places.values()])]
        table = [*lines(columns if width is None else fitted(columns, width))]
        if self.elsewhere:
            table += ["", "NOT THE HIGHEST SCORE", *self._reasons(self.elsewhere)]
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
            "newNodesCost": None if self.new_nodes_cost is None else round(self.new_nodes_cost, 6),
        }

    def _cost(self) -> str:
        cost, bound, new_cost = self.hourly_cost, self.bound, self.new_nodes_cost
        number = sum(self.planned.new_nodes.values())
        if new_cost is None:
            now = self.planned.plan.hourly_cost
            used = self.planned.plan.nodes_used
            there = _dollars(now) if self.coverage.priced else f"{counted(used, 'node')} (no prices)"
            return f"{there}, and {counted(number, 'new node')} (no prices)."
        new = f" and {_dollars(new_cost)} for new ones" if self.planned.new_nodes else ""
        if cost is None:
            fewest = "" if bound is None else f"; no plan needs fewer than {math.ceil(bound - _ROUNDING)}"
            return f"{counted(self.planned.plan.nodes_used, 'node')} (no prices){new}{fewest}."
        if self.planned.new_nodes:
            return f"{_dollars(cost)}, of which {_dollars(new_cost)} for new nodes."
        below = "" if bound is None else f"; no plan can be below {_dollars(bound)}"
        return f"{_dollars(cost)}{below}."

    def _reasons(self, told_of: Mapping[str, str]) -> list[str]:
        """One line for each reason, the one with most pods first."""
        workloads = {str(pod): pod.workload or str(pod) for pod in self.pods}
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for pod, reason in sorted(told_of.items()):
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
