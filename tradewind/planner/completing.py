"""A place for the last pods: those around one without a place are moved until it has one."""

import random
import time
from collections.abc import Callable

import numpy as np

from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.exact import solve
from tradewind.planner.problem import Assignment, Problem, value
from tradewind.planner.progress import Progress
from tradewind.planner.state import State

# Variables of a window: CP-SAT mostly fills one of the smallest in a tenth of a second on two cores, one of
# the largest in some. It grows while nothing comes of it.
_SMALLEST, _LARGEST = 400, 3200
_SECONDS = 1 / 800  # for each variable
_TIED_ROWS = 3

Report = Callable[[Assignment], None]


def complete(
    problem: Problem, start: Assignment, deadline: float, report: Report, progress: Progress | None = None
) -> Assignment:
    """Until every pod has a place, the deadline (of time.monotonic), or nothing was gained for too long."""
    progress = progress or Progress()
    draw = random.Random(1)  # noqa: S311  a search, not a secret
    best = dict(start)
    failures = 0
    while time.monotonic() < deadline and not progress.stalled():
        state = State(problem).load(best)
        waiting = [index for index, left in enumerate(state.left) if left]
        if not waiting:
            break
        draw.shuffle(waiting)
        wanted = waiting[: max(1, len(waiting) >> failures % 3)]
        size = min(_SMALLEST << failures // 3, _LARGEST)
        rows = _around(state, wanted, size, draw)
        found = _refilled(problem, best, rows, wanted, min(deadline, time.monotonic() + size * _SECONDS))
        if found is not None and value(problem, found)[0] > value(problem, best)[0]:
            best = dict(found)
            report(best)
        else:
            failures += 1
    return best


def _around(state: State, wanted: list[int], size: int, draw: random.Random) -> list[int]:
    """Nodes that they may use, those with most left first, by chance: together they may have room for them.

    Before them some with pods that they are tied to: these may have to move too.
    """
    problem = state.problem
    allowed = np.flatnonzero(np.any([problem.classes[index].allowed for index in wanted], axis=0))
    most = np.maximum(problem.free.max(axis=1, initial=1), 1).astype(np.float64)[:, None]
    slack = (state.free[:, allowed] / most).clip(0).sum(axis=0)
    chance = np.array([draw.random() for _ in range(allowed.size)])
    freest = allowed[np.argsort(-(slack + 1e-3) * chance)].tolist()
    beside = []
    for index in wanted:
        tied = _tied_to(problem, index)
        theirs = [row for row in state.on if not tied.isdisjoint(state.on[row])]
        beside += draw.sample(theirs, min(len(theirs), _TIED_ROWS))
    rows: list[int] = []
    classes = set(wanted)
    for row in dict.fromkeys([*beside, *freest]):
        merged = classes | set(state.on[row])
        if len(merged) * (len(rows) + 1) > size and rows:
            break
        rows.append(row)
        classes = merged
    return rows


def _tied_to(problem: Problem, index: int) -> frozenset[int]:
    """The class, and those of the relations that it is part of."""
    members = (relation.members() for relation in problem.relations)
    return frozenset({index}).union(*(each for each in members if index in each))


def _refilled(
    problem: Problem, best: Assignment, rows: list[int], wanted: list[int], deadline: float
) -> Assignment | None:
    """One pod more of each of these classes, and all that were there, on these nodes."""
    inside = set(rows)
    fixed = {key: pods for key, pods in best.items() if key[1] not in inside}
    moving = {key: pods for key, pods in best.items() if key[1] in inside}
    base = State(problem).load(fixed)
    counts = dict.fromkeys(wanted, 1)
    for (each, _), pods in moving.items():
        counts[each] = counts.get(each, 0) + pods
    seconds = deadline - time.monotonic()
    solution = solve(base, rows, counts, seconds=seconds, hint=moving, every=True)
    if solution is None or not solution.assignment:
        return None
    whole = {**fixed, **solution.assignment}
    return dict(assignment_of(valid_order(problem, whole))) if any(base.ties) else whole
