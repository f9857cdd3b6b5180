"""Large batches, exactly where it counts: small windows of nodes, each solved to the best around the rest."""

import random
import time
from collections.abc import Callable, Sequence

import numpy as np

from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.exact import solve
from tradewind.planner.problem import Assignment, Problem, value
from tradewind.planner.progress import Progress
from tradewind.planner.state import State

# Variables of a window that CP-SAT mostly solves in well under a second on two cores.
_WINDOW = 250
_WINDOW_SECONDS = 0.4
_PATIENCE = 40  # windows in a row without a gain

Report = Callable[[Assignment], None]


def improve(
    problem: Problem, start: Assignment, deadline: float, report: Report, progress: Progress | None = None
) -> Assignment:
    """Until the deadline (of time.monotonic) or until nothing seems to be gained any more."""
    progress = progress or Progress()
    draw = random.Random(1)  # noqa: S311  a search, not a secret
    best, best_value = dict(start), value(problem, start)
    idle = 0
    while idle < _PATIENCE and time.monotonic() < deadline and not progress.stalled():
        rows = _rows(problem, best, draw)
        found = _resolve(problem, best, rows, min(_WINDOW_SECONDS, deadline - time.monotonic()))
        idle += 1
        if found is None:
            continue
        new_value = value(problem, found)
        if new_value > best_value:
            gained = (new_value[0] - best_value[0], new_value[1] - best_value[1])
            idle = 0 if max(gained) > 1e-4 * abs(best_value[1]) else idle
            best, best_value = dict(found), new_value
            report(best)
        elif new_value == best_value:
            best = dict(found)  # as good, but elsewhere: the next windows see something new
    return best


def _resolve(problem: Problem, best: Assignment, rows: Sequence[int], seconds: float) -> Assignment | None:
    inside = set(rows)
    fixed = {key: pods for key, pods in best.items() if key[1] not in inside}
    base = State(problem).load(fixed)
    moving = {key: pods for key, pods in best.items() if key[1] in inside}
    counts: dict[int, int] = {}
    for (index, _), pods in moving.items():
        counts[index] = counts.get(index, 0) + pods
    waiting = [index for index, left in enumerate(base.left) if left > counts.get(index, 0)]
    waiting.sort(key=lambda index: -problem.worth[index])
    for index in waiting[: max(1, _WINDOW // max(len(rows), 1) - len(counts))]:
        if problem.classes[index].allowed[list(rows)].any():
            counts[index] = base.left[index]
    if not counts:
        return None
    solution = solve(base, rows, counts, seconds=seconds, hint=moving)
    if solution is None:
        return None
    whole = {**fixed, **solution.assignment}
    return assignment_of(valid_order(problem, whole)) if any(base.ties) else whole


def _rows(problem: Problem, best: Assignment, draw: random.Random) -> list[int]:
    """A node to get rid of, others in use to take its pods, and nodes not in use that could do it cheaper."""
    classes_on: dict[int, set[int]] = {}
    for index, row in best:
        classes_on.setdefault(row, set()).add(index)
    state_used = np.zeros(len(problem.node_names), np.bool_)
    state_used[list(classes_on)] = True
    opened = [row for row in classes_on if not problem.in_use[row]]
    closed = np.flatnonzero(~state_used & ~problem.in_use).tolist()
    draw.shuffle(opened)
    held = [row for row in range(len(problem.node_names)) if problem.in_use[row]]
    draw.shuffle(held)
    rows: list[int] = []
    classes: set[int] = set()
    pool = _mixed(draw, opened, _promising(problem, closed, draw), held)
    for row in pool:
        merged = classes | classes_on.get(row, set())
        if len(merged) * (len(rows) + 1) > _WINDOW and rows:
            break
        rows.append(row)
        classes = merged
    return rows


def _promising(problem: Problem, closed: Sequence[int], draw: random.Random) -> list[int]:
    """Nodes by price for what they have, with chance mixed in: the cheapest are tried most."""
    if not closed:
        return []
    most = np.maximum(problem.free.max(axis=1, keepdims=True), 1)
    size = (problem.free / most).clip(0).mean(axis=0) + 1e-9
    return sorted(closed, key=lambda row: problem.opening[row] / size[row] * draw.uniform(0.5, 1.5))


def _mixed(draw: random.Random, opened: list[int], closed: list[int], held: list[int]) -> list[int]:
    pool: list[int] = []
    while opened or closed or held:
        for source, chance in ((opened, 1.0), (closed, 0.5), (held, 0.3 if opened else 1.0)):
            if source and draw.random() < chance:
                pool.append(source.pop(0))
    return pool
