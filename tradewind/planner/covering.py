"""Which nodes to open, chosen before any pod is placed: the cheapest set that has enough of everything.

Opening node by node is blind to the end: the cheapest core is often in a node far larger than what is left
to place. Here the whole set is chosen at once, then filled, and chosen again with what that taught.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from ortools.sat.python import cp_model

from tradewind.planner import recreate
from tradewind.planner.bound import Relaxation, node_groups, relax
from tradewind.planner.greedy import fill, urgency
from tradewind.planner.problem import Amounts, Assignment, Floats, Mask, Problem, placed_counts
from tradewind.planner.progress import Progress
from tradewind.planner.repack import repack
from tradewind.planner.state import State

_ROUNDS = 6
_RESOLUTION = 10**6
_CHOICE_SECONDS = 0.2

Report = Callable[[Assignment], object]


def cover(
    problem: Problem,
    baseline: Assignment,
    deadline: float,
    report: Report,
    progress: Progress | None = None,
) -> float:
    """Report what comes of each round before the deadline, the first of them always.

    Slope scaling: no node can be filled to the brim, one too small for most pods least of all. Each round
    sees how full the nodes of each kind got, and the next one counts on no more than that. Where pods wait
    for it, one round is enough. The bound that it returns is of what the whole costs.
    """
    progress = progress or Progress()
    found, bound = _rounded(problem, baseline, problem.in_use, deadline, wholly=True)
    report(_polished(problem, found, deadline))
    if progress.hurried:
        return bound
    found, _ = _rounded(problem, baseline, problem.in_use, deadline, wholly=False)
    report(_polished(problem, found, deadline))
    groups = node_groups(problem)
    fullness = np.ones(len(groups))
    for number in range(_ROUNDS):
        left = deadline - time.monotonic()
        if left <= 0 or progress.stalled():
            break
        rows = _choose(problem, groups, baseline, fullness, min(_CHOICE_SECONDS, left))
        if rows is None:
            break
        open_rows = problem.in_use.copy()
        open_rows[rows] = True
        found, _ = _rounded(problem, baseline, open_rows, deadline, wholly=number % 2 == 0)
        report(_polished(problem, found, deadline))
        _learn(problem, groups, found, fullness)
    return bound


def _polished(problem: Problem, found: Assignment, deadline: float) -> Assignment:
    """What a moment of recreating makes of it: only then two of them can be compared."""
    moment = min(deadline, time.monotonic() + recreate.MOMENT_SECONDS)
    return recreate.improve(problem, found, moment, lambda _: None)


def rounded(problem: Problem, baseline: Assignment, open_rows: Mask, deadline: float) -> Assignment:
    """The linear programme made whole: pods where it has most of them, on as many nodes as it pays for.

    It knows which pods go with which nodes: those that want memory to where memory is cheap. Of the open rows
    it need not pay for any.
    """
    return _rounded(problem, baseline, open_rows, deadline, wholly=True)[0]


def _rounded(
    problem: Problem, baseline: Assignment, open_rows: Mask, deadline: float, *, wholly: bool
) -> tuple[Assignment, float]:
    """With what the programme says that it costs, about the least that there is.

    `wholly`: it counts all that pods cost on nodes, and pods with ties follow it as far as these let them.
    Else it counts prices alone, and the greedy rule places pods with ties; which is better varies.
    """
    seconds = max(deadline - time.monotonic(), 0.1)
    counts = placed_counts(problem, baseline)
    relaxed = relax(replace(problem, in_use=open_rows), counts, seconds, guidance=True, arcs=wholly)
    if relaxed is None:
        return baseline, -math.inf
    open_rows = open_rows.copy()
    for group, opened in zip(relaxed.groups, relaxed.opened, strict=True):
        open_rows[list(group[: int(np.ceil(opened - 1e-6))])] = True
    state = State(problem)
    order = [
        i
        for i in urgency(problem)
        if (wholly or not state.ties[i])
        and not (_in_gang(problem, i) or problem.classes[i].step)
        and i in relaxed.lump_of
    ]
    size = np.maximum(problem.free[:, open_rows].max(axis=1, initial=1), 1)[:, None]
    _follow(state, relaxed, _until(deadline, order), open_rows, size)
    for index in _until(deadline, order):
        _best_fit(state, index, open_rows, size)
    fill(state)
    while repack(state) and time.monotonic() < deadline:
        pass
    return state.assignment, float(problem.opening[problem.in_use].sum()) + relaxed.cost


def _until(deadline: float, order: Iterable[int]) -> Iterator[int]:
    """What is not reached in time is left to the greedy rule."""
    return itertools.takewhile(lambda _: time.monotonic() < deadline, order)


def _follow(state: State, relaxed: Relaxation, order: Iterable[int], open_rows: Mask, size: Floats) -> None:
    wanted = relaxed.flow.copy()
    for index in order:
        lump = wanted[relaxed.lump_of[index]]
        for at in np.argsort(-lump, kind="stable").tolist():
            pods = min(int(lump[at] + 0.5), state.left[index])
            if not pods:
                break
            here = np.zeros_like(open_rows)
            here[list(relaxed.groups[at])] = True
            before = state.left[index]
            _best_fit(state, index, here & open_rows, size, keep=before - pods)
            lump[at] -= before - state.left[index]


def _learn(problem: Problem, groups: list[list[int]], found: Assignment, fullness: Floats) -> None:
    taken = np.zeros(problem.free.shape)
    for (index, row), pods in found.items():
        taken[:, row] += pods * problem.classes[index].requests
    for number, group in enumerate(groups):
        opened = [row for row in group if taken[:, row].any()]
        if opened and not problem.in_use[group[0]]:
            free = np.maximum(problem.free[:, opened], 1)
            seen = float(np.mean((taken[:, opened] / free).max(axis=0)))
            fullness[number] += 0.5 * (seen - fullness[number])


def _choose(
    problem: Problem, groups: list[list[int]], baseline: Assignment, fullness: Floats, seconds: float
) -> list[int] | None:
    """The cheapest nodes with room for all that the baseline places, resource by resource."""
    usable = np.any([each.allowed for each in problem.classes], axis=0).reshape(-1)
    closed = [number for number, group in enumerate(groups) if not problem.in_use[group[0]]]
    first = [groups[number][0] for number in closed]
    model = cp_model.CpModel()
    opened = [
        model.new_int_var(0, len(groups[number]) if usable[row] else 0, "")
        for number, row in zip(closed, first, strict=True)
    ]
    demand = _demand(problem, baseline)
    given = problem.free[:, problem.in_use & usable].clip(0).sum(axis=1)
    for resource in np.flatnonzero(demand).tolist():
        scale = demand[resource] / _RESOLUTION
        supply = problem.free[resource, first].clip(0) * fullness[closed] / scale
        wanted = int(np.ceil((demand[resource] - given[resource]) / scale))
        model.add(_weighted(supply.astype(np.int64), opened) >= wanted)
    prices = problem.opening[first] / (float(problem.opening.sum()) or 1.0) * 10**9
    model.minimize(_weighted(prices.round().astype(np.int64), opened))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.num_workers = 2
    if solver.solve(model) not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    chosen = zip(closed, opened, strict=True)
    return [row for number, count in chosen for row in groups[number][: int(solver.value(count))]]


def _demand(problem: Problem, assignment: Assignment) -> Amounts:
    """(R,) what all these pods request."""
    demand = np.zeros(len(problem.free), np.int64)
    for (index, _), pods in assignment.items():
        demand += pods * problem.classes[index].requests
    return demand


def _weighted(weights: Amounts, variables: Sequence[cp_model.IntVar]) -> cp_model.LinearExprT:
    return cp_model.LinearExpr.weighted_sum(list(variables), weights.tolist())


def _in_gang(problem: Problem, index: int) -> bool:
    return any(index in gang.classes for gang in problem.gangs)


def _best_fit(
    state: State,
    index: int,
    open_rows: Mask,
    size: Floats,
    *,
    keep: int = 0,
) -> None:
    """To the open nodes where it aligns best, until no more than `keep` pods of the class are left.

    Pod by pod, as each changes the proportions of what is left.
    """
    if state.ties[index]:
        _best_fit_tied(state, index, open_rows, size, keep)
        return
    room = state.room(index)
    room[~open_rows] = 0
    rows = np.flatnonzero(room)
    left = room[rows]
    request = state.problem.classes[index].requests[:, None] / size
    free = state.free[:, rows] / size
    score = alignment(request, free)
    taken = np.zeros_like(left)
    for _ in range(min(state.left[index] - keep, int(left.sum()))):
        at = int(np.argmin(score))
        taken[at] += 1
        free[:, at] -= request[:, 0]
        one = alignment(request, free[:, at : at + 1])
        score[at] = one[0] if taken[at] < left[at] else np.inf
    state.add_all(index, rows[taken > 0], taken[taken > 0])


def _best_fit_tied(state: State, index: int, open_rows: Mask, size: Floats, keep: int) -> None:
    """The same where each pod may change what the others of its class may do."""
    request = state.problem.classes[index].requests[:, None] / size
    while state.left[index] > keep:
        rows = np.flatnonzero(state.starting_room(index, state.room(index) * open_rows))
        if not rows.size or not state.limit(index):
            return
        score = alignment(request, state.free[:, rows] / size)
        state.add(index, int(rows[np.argmin(score)]), 1)


def alignment(request: Floats, free: Floats) -> Floats:
    """First where what is free has the proportions of the pod: else one resource runs out before others."""
    length = np.sqrt((free**2).sum(axis=0)) + 1e-12
    return np.asarray(-(request * free).sum(axis=0) / length)
