"""From a snapshot and its pods to a plan."""

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import Batch, PolicyOf, make_batch
from tradewind.planner.binding import Step, assignment_of, filled_order, independent
from tradewind.planner.deadline import OutOfTimeError
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import Plan, make_plan
from tradewind.planner.pools import growth
from tradewind.planner.possible import without_impossible
from tradewind.planner.problem import Assignment, Outcome, Problem, placed_counts
from tradewind.planner.reasons import Proof, reasons
from tradewind.planner.rent import NO_RENT, Rent
from tradewind.planner.settings import Engine, PoolTemplate
from tradewind.planner.waves import Wave, waves
from tradewind.planner.worker import Result, Worker

# Pods times nodes for each second: beyond, no solver was seen to better the greedy placement in its time.
_REACH = 10_000_000

# For each of a plan's steps around the solvers. Thousands of pods of hundreds of classes take less than one.
STEP_SECONDS = 5.0


@dataclass(frozen=True)
class PlanResult:
    plan: Plan
    batch: Batch
    assignment: Assignment
    failure: str  # why the solvers' part is missing, empty if it is not
    pools: Mapping[str, str]  # namespace/name of pods without a place to the pool that could grow for them
    new_nodes: Mapping[str, int]  # of each pool, for all of these


def within_reach(problem: Problem, seconds: float) -> bool:
    """Whether the solvers can be expected to better the greedy placement in that time."""
    return 0 < problem.pods * len(problem.node_names) <= _REACH * seconds


def plan(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    worker: Worker | None,
    seconds: float,
    *,
    patience: Callable[[Sequence[Pod]], float] = lambda _: 0.0,
    idle: float = math.inf,
    enough: Callable[[], bool] = lambda: False,
    short: Callable[[Sequence[Pod]], None] = lambda _: None,
    impossible: Callable[[Sequence[Pod]], None] = lambda _: None,
    skip_solver_if_complete: bool = False,
    favour: Mapping[str, int] | None = None,
    expires_at: float = math.inf,
    pools: Sequence[PoolTemplate] = (),
    rent: Rent = NO_RENT,
    emptied: Collection[str] = (),
    engine: Engine = "auto",
    step_seconds: float = STEP_SECONDS,
) -> PlanResult:
    """The greedy placement, bettered by the worker within so many seconds; without a worker as it is.

    `patience` says of the pods that the greedy placement leaves out how many seconds more they are worth,
    `idle` and `enough` are as in `Worker.solve`; with `skip_solver_if_complete` the worker is asked only if
    there is such a pod. A pod that no plan can place counts for none of these. `short` is called before the
    worker is asked, with all pods that the greedy placement leaves out, and `impossible` with those that no
    plan can place.
    `favour` as `selection` says, by UID. `pools` are planned on for the pods that found no place, in as many
    seconds again. `rent` is what room costs, `emptied` are nodes that pods are being moved off.
    `engine` betters the greedy placement. Each step around the solvers has `step_seconds`; pods that are not
    planned by then are among the unplaced.
    """
    batch = make_batch(snapshot, pods, policy_of, rent=rent, emptied=emptied, seconds=step_seconds)
    problem, baseline = _floor(batch, step_seconds)
    if favour and (batch.late or not _is_complete(batch.problem, baseline)):
        # Only now, as it divides classes, and the fewer there are the better are the plans.
        batch = make_batch(
            snapshot, pods, policy_of, favour, rent=rent, emptied=emptied, seconds=step_seconds
        )
        problem, baseline = _floor(batch, step_seconds)
    if batch.late or not _is_complete(batch.problem, baseline):
        short(_left_out(batch, batch.problem, baseline))
        impossible(_impossible(batch, problem))
    if _is_complete(problem, baseline) and skip_solver_if_complete:
        worker = None
    more = 0.0 if _is_complete(problem, baseline) else patience(_left_out(batch, problem, baseline))
    (assignment, found_by, is_full), failure = _solved(
        problem, baseline, worker, seconds, more, idle=idle, enough=enough, engine=engine
    )
    order = filled_order(batch.problem, assignment, time.monotonic() + step_seconds)
    order, in_waves = _in_waves(batch.problem, order, time.monotonic() + step_seconds)
    best = found_by == "exact" and assignment_of(order) == assignment
    searched = Proof.OPEN if worker is not None else Proof.NONE
    proof = Proof.BEST if best else Proof.FULL if is_full else searched
    assignment = assignment_of(order)
    told = reasons(batch, assignment, proof, time.monotonic() + step_seconds)
    grown = growth(
        pools,
        _left(batch, assignment) if pools else (),
        batch.snapshot.nodes.cluster.namespaces.values(),
        policy_of,
        lambda problem: (
            _solved(
                problem, greedy(problem, time.monotonic() + step_seconds), worker, seconds
            ).outcome.assignment
        ),
        step_seconds=step_seconds,
    )
    return PlanResult(
        make_plan(batch, order, {**batch.refused, **told}, found_by, expires_at, in_waves=in_waves),
        batch,
        assignment,
        failure,
        *grown,
    )


def _floor(batch: Batch, seconds: float) -> tuple[Problem, Assignment]:
    """What is to be solved, without the pods that no plan can place, and the greedy placement."""
    deadline = time.monotonic() + seconds
    problem, baseline = batch.problem, greedy(batch.problem, deadline)
    if not _is_complete(problem, baseline):
        problem = without_impossible(problem, baseline, deadline)
    return problem, baseline


def _in_waves(problem: Problem, order: list[Step], deadline: float) -> tuple[list[Step], list[Wave]]:
    """The order, and its waves; of pods that go in any order only, where the waves take too long."""
    try:
        return order, waves(problem, order, deadline)
    except OutOfTimeError:
        order = independent(problem, order)
        return order, waves(problem, order)


def _is_complete(problem: Problem, assignment: Assignment) -> bool:
    return sum(assignment.values()) == problem.pods


def _solved(
    problem: Problem,
    baseline: Assignment,
    worker: Worker | None,
    seconds: float,
    patience: float = 0.0,
    *,
    idle: float = math.inf,
    enough: Callable[[], bool] = lambda: False,
    engine: Engine = "auto",
) -> Result:
    if worker is None or not (engine == "flow" or within_reach(problem, seconds)):
        return Result(Outcome(baseline, "greedy"), "")
    return worker.solve(
        problem, baseline, seconds, patience=patience, idle=idle, enough=enough, engine=engine
    )


def _impossible(batch: Batch, problem: Problem) -> list[Pod]:
    groups = zip(batch.groups, problem.classes, strict=True)
    return [pod for group, each in groups if not each.count for pod in group.pods]


def _left_out(batch: Batch, problem: Problem, placed: Assignment) -> list[Pod]:
    counts = zip(batch.groups, problem.classes, placed_counts(problem, placed), strict=True)
    return [pod for group, each, count in counts for pod in group.pods[count : each.count]]


def _left(batch: Batch, assignment: Assignment) -> list[Pod]:
    """Those that no node had room for; without alternatives, of which the second is to wait."""
    counts = placed_counts(batch.problem, assignment)
    alternatives = [each.members() for each in batch.problem.relations if each.alternatives]
    chosen = frozenset[int]().union(*alternatives)
    return [
        pod
        for index, group in enumerate(batch.groups)
        if index not in chosen
        for pod in group.pods[counts[index] :]
    ]
