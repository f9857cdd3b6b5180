"""The linear programme made whole: a start for the search that knows which pods go with which nodes."""

import itertools
import time
from collections.abc import Iterable, Iterator

import numpy as np

from tradewind.planner.bound import Relaxation, relax
from tradewind.planner.greedy import fill, urgency
from tradewind.planner.problem import Assignment, Floats, Mask, Problem, placed_counts
from tradewind.planner.state import State


def round_relaxation(problem: Problem, baseline: Assignment, seconds: float) -> Assignment | None:
    """Pods where the programme has most of them, on as many nodes as it pays for; the rest greedily.

    It is of the pods that the baseline places. None where it is not solved in time.
    """
    deadline = time.monotonic() + seconds
    relaxed = relax(problem, placed_counts(problem, baseline), seconds, guidance=True, arcs=True)
    if relaxed is None:
        return None
    open_rows = problem.in_use.copy()
    for group, opened in zip(relaxed.groups, relaxed.opened, strict=True):
        open_rows[list(group[: int(np.ceil(opened - 1e-6))])] = True
    state = State(problem)
    in_gangs = frozenset[int]().union(*(gang.classes for gang in problem.gangs))
    order = [
        index
        for index in urgency(problem)
        if index in relaxed.lump_of and index not in in_gangs and not problem.classes[index].step
    ]
    size = np.maximum(problem.free[:, open_rows].max(axis=1, initial=1), 1)[:, None]
    _follow(state, relaxed, _until(deadline, order), open_rows, size)
    for index in _until(deadline, order):
        _best_fit(state, index, open_rows, size)
    return fill(state).assignment


def _until(deadline: float, order: Iterable[int]) -> Iterator[int]:
    """Classes that are not reached in time are left to the greedy rule."""
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


def _best_fit(state: State, index: int, open_rows: Mask, size: Floats, *, keep: int = 0) -> None:
    """To the open nodes where the pods align best, until `keep` pods of the class are left.

    Pod by pod, as each changes the proportions of what is left on its node.
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
    """The same where each pod may change where the others of its class may go."""
    request = state.problem.classes[index].requests[:, None] / size
    while state.left[index] > keep:
        rows = np.flatnonzero(state.starting_room(index, state.room(index) * open_rows))
        if not rows.size or not state.limit(index):
            return
        score = alignment(request, state.free[:, rows] / size)
        state.add(index, int(rows[np.argmin(score)]), 1)


def alignment(request: Floats, free: Floats) -> Floats:
    """Lowest where what is free has the proportions of the pod: else one resource runs out before others."""
    length = np.sqrt((free**2).sum(axis=0)) + 1e-12
    return np.asarray(-(request * free).sum(axis=0) / length)
