"""From a snapshot and its pods to a plan."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster.objects import Pod
from cluster.snapshot import Snapshot
from planner.batch import Batch, PolicyOf, make_batch
from planner.binding import assignment_of, valid_order
from planner.greedy import greedy
from planner.plan import Plan, make_plan
from planner.problem import Assignment
from planner.reasons import reasons
from planner.worker import Worker


@dataclass(frozen=True)
class Planned:
    plan: Plan
    batch: Batch
    assignment: Assignment
    failure: str  # why the solvers' part is missing, empty if it is not


def plan(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    worker: Worker | None,
    seconds: float,
    *,
    patience: float = 0.0,
    favour: Mapping[str, int] | None = None,
    expires_at: float = math.inf,
) -> Planned:
    """The greedy placement, bettered by the worker within so many seconds; without a worker as it is.

    `patience` is for so many seconds more while a pod is without a place; `favour` as `planner.selection`
    says, by UID.
    """
    batch = make_batch(snapshot, pods, policy_of, favour)
    assignment, engine, failure = greedy(batch.problem), "greedy", ""
    if worker is not None and batch.groups:
        (assignment, engine), failure = worker.solve(batch.problem, assignment, seconds, patience)
    order = valid_order(batch.problem, assignment)
    assignment = assignment_of(order)
    unplaced = {**batch.refused, **reasons(batch, assignment)}
    return Planned(make_plan(batch, order, unplaced, engine, expires_at), batch, assignment, failure)
