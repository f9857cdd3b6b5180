"""A plan: where each waiting pod goes, in an order in which kube-scheduler can bind them, or why nowhere."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.batch import Batch
from planner.greedy import depths
from planner.problem import Assignment, Problem
from planner.state import State

# How many pods of a class that wants to be with itself are tried as the first of it.
_STARTS = 20


class Step(NamedTuple):
    """One pod of a class is bound to a node."""

    number: int  # of the class
    row: int
    wave: int


@dataclass(frozen=True, kw_only=True)
class Placement:
    pod: str  # namespace/name
    uid: str
    node: str
    wave: int  # anchors of affinity are in an earlier wave than their followers
    strict: bool = False  # of a gang: elsewhere it could take the place of one that it needs


@dataclass(frozen=True, kw_only=True)
class Plan:
    generation: int  # of the snapshot that it was made of
    placements: tuple[Placement, ...]  # in binding order
    unplaced: Mapping[str, str]  # namespace/name to the reason
    nodes_used: int  # with pods of their own after the plan, those of every node's own agents aside
    hourly_cost: float  # dollars, of these nodes
    engine: str  # which of the engines found it
    expires_at: float = math.inf  # seconds since 1970; the cluster will be another one then


def make_plan(
    batch: Batch,
    order: Sequence[Step],
    unplaced: Mapping[str, str],
    engine: str,
    expires_at: float = math.inf,
) -> Plan:
    taken = [0] * len(batch.groups)
    placements = []
    for index, row, wave in order:
        pod = batch.groups[index].pods[taken[index]]
        taken[index] += 1
        node = batch.problem.node_names[row]
        placements.append(Placement(pod=str(pod), uid=pod.uid, node=node, wave=wave, strict=bool(pod.gang)))
    used = batch.problem.in_use.copy()
    used[[step.row for step in order]] = True
    return Plan(
        generation=batch.snapshot.generation,
        placements=tuple(placements),
        unplaced=unplaced,
        nodes_used=int(np.count_nonzero(used)),
        hourly_cost=float(batch.problem.price[used].sum()),
        engine=engine,
        expires_at=expires_at,
    )


def valid_order(problem: Problem, assignment: Assignment) -> list[Step]:
    """An order for all of it, unless pods wait for each other in a circle: these are left out.

    A gang that then falls short is dropped as a whole, until nothing more falls.
    """
    while True:
        order = binding_order(problem, assignment)
        kept = assignment_of(order)
        short = {
            index
            for gang in problem.gangs
            if sum(pods for (i, _), pods in kept.items() if i in gang.classes) < gang.least
            for index in gang.classes
        }
        assignment = {key: pods for key, pods in kept.items() if key[0] not in short}
        if assignment == kept:
            return order


def assignment_of(order: Sequence[Step]) -> Assignment:
    return Counter((step.number, step.row) for step in order)


def binding_order(problem: Problem, assignment: Assignment) -> list[Step]:
    """Every pod; those that can never be bound are left out.

    Anchors come before their followers. Where a class wants to be with itself, the first of it may have to
    come before others that it would accept too.
    """
    depth = depths(problem)
    steps = _bind(problem, assignment, depth, None)
    starters = frozenset().union(*(each.starters for each in problem.attractions))
    for first in [key for key in assignment if key[0] in starters][:_STARTS]:
        if len(steps) == sum(assignment.values()):
            break
        steps = max(steps, _bind(problem, assignment, depth, first), key=len)
    return steps


def _bind(
    problem: Problem, assignment: Assignment, depth: Sequence[int], first: tuple[int, int] | None
) -> list[Step]:
    state = State(problem)
    # Who needs most beyond its request, for its limit, comes first and finds the most free.
    slack = [int((each.needs - each.requests).max(initial=0)) for each in problem.classes]
    order = sorted(
        assignment.items(),
        key=lambda item: (item[0] != first, depth[item[0][0]], -slack[item[0][0]], item[0]),
    )
    waiting = dict(order)
    steps: list[Step] = []
    bound = True
    while waiting and bound:
        bound = False
        for index, row in list(waiting):
            pods = _bindable(state, index, row, waiting[index, row], plain=not slack[index])
            steps.extend([Step(index, row, depth[index])] * pods)
            bound |= pods > 0
            waiting[index, row] -= pods
            if not waiting[index, row]:
                del waiting[index, row]
    return steps


def _bindable(state: State, index: int, row: int, pods: int, *, plain: bool) -> int:
    """Bind as many of the pods as fit now; of a class without ties all of them do, as the engines saw to."""
    if plain and not state.ties[index]:
        state.add(index, row, pods)
        return pods
    bound = 0
    while bound < pods and state.fits(index, row):
        state.add(index, row, 1)
        bound += 1
    return bound
