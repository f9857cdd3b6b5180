"""What the plan that a pod carries means for the answers about it."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from scoring.filters.gang import Gang
from scoring.policy import Policy
from scoring.ranking import TOP, Levels
from scoring.rules import Mask
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.plan_annotation import PlanAnnotation, read


@dataclass(frozen=True)
class PlannedNodeOnly:
    """The node is the planned one; for the members of a gang, whom any other place would tear apart."""

    name: ClassVar[str] = "plan"
    reason: ClassVar[str] = "node(s) weren't the one that the pod is planned on"
    resolvable: ClassVar[bool] = False  # evicting pods does not change the plan

    node: str

    def feasible(self, _pod: Pod, nodes: Nodes) -> Mask:
        return _named(nodes, self.node)


def fresh_plan(pod: Pod, now: float) -> PlanAnnotation | None:
    plan = read(pod)
    return plan if plan is not None and plan.fresh(now) else None


def with_plan(policy: Policy, plan: PlanAnnotation | None) -> Policy:
    """The policy of a pod that carries a fresh plan."""
    if plan is None or not plan.strict:
        return policy
    # The plan is of the whole gang.
    others = (rule for rule in policy.filters if not isinstance(rule, Gang))
    return replace(policy, filters=(PlannedNodeOnly(plan.node), *others))


def planned_row(pod: Pod, plan: PlanAnnotation, policy: Policy, nodes: Nodes) -> int | None:
    """Which of the nodes is the planned one; None where it is not there, or cannot take the pod by now."""
    rows = np.flatnonzero(_named(nodes, plan.node))
    if not rows.size or not policy.filter(pod, nodes.take(rows)).feasible.all():
        return None
    return int(rows[0])


def boosted(count: int, row: int) -> Levels:
    """(count,) the planned node before all others, whatever the scores say."""
    levels = np.zeros(count, np.int64)
    levels[row] = TOP
    return levels


def _named(nodes: Nodes, name: str) -> Mask:
    return np.equal(nodes.rows, nodes.cluster.table.row_of.get(name, -1))
