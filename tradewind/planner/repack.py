"""Save money on a valid placement: close nodes, or swap one for a cheaper that does as well."""

from collections.abc import Sequence

import numpy as np

from tradewind.planner.greedy import unit_costs
from tradewind.planner.state import State


def repack(state: State) -> bool:
    """Whether anything was saved; relations stay satisfied, as pods move only to where they fit."""
    saved = False
    problem = state.problem
    opened = np.flatnonzero(state.used & ~problem.in_use)
    for row in opened[np.argsort(-problem.opening[opened], kind="stable")].tolist():
        if state.used[row] and (_close(state, row) or _swap(state, row)):
            saved = True
    return saved


def _pods_on(state: State, row: int) -> list[tuple[int, int]]:
    """The classes on the node and their pods, the largest first."""
    return sorted(state.on[row].items(), key=lambda item: -float(state.problem.classes[item[0]].share[row]))


def _movable(state: State, on: Sequence[tuple[int, int]]) -> bool:
    """Pods that others may have come for, or that are spread, stay: the solver's windows move such ones."""
    return not any(state.ties[index] or state.problem.classes[index].step for index, _ in on)


def _close(state: State, row: int) -> bool:
    on = _pods_on(state, row)
    if not on or not _movable(state, on):
        return False
    _lift(state, row, on)
    moves: list[tuple[int, int, int]] = []
    saving = float(state.problem.opening[row]) + sum(_cost(state, i, row, pods) for i, pods in on)
    for index, pods in on:
        left = pods
        room = state.room(index)
        room[row] = 0
        rows = np.flatnonzero(room * state.used)
        for target in rows[np.argsort(unit_costs(state, index)[rows], kind="stable")].tolist():
            fitting = min(int(room[target]), left)
            state.add(index, target, fitting)
            moves.append((index, target, fitting))
            saving -= _cost(state, index, target, fitting)
            left -= fitting
            if not left:
                break
        if left:
            break
    else:
        if saving > 0:
            return True
    _undo(state, row, on, moves)
    return False


def _swap(state: State, row: int) -> bool:
    on = _pods_on(state, row)
    if not on or not _movable(state, on):
        return False
    problem = state.problem
    load = np.sum([pods * problem.classes[index].requests for index, pods in on], axis=0)
    fits = np.all((state.free >= load[:, None]) | (load[:, None] == 0), axis=0) & ~state.used
    now = float(problem.opening[row]) + sum(_cost(state, index, row, pods) for index, pods in on)
    then = problem.opening.copy()
    for index, pods in on:
        fits &= problem.classes[index].allowed
        then += pods * problem.classes[index].cost
    fits &= then < now - 1e-9
    candidates = np.flatnonzero(fits)
    if not candidates.size:
        return False
    target = int(candidates[np.argmin(then[candidates])])
    _lift(state, row, on)
    moves: list[tuple[int, int, int]] = []
    for index, pods in on:
        if state.room(index)[target] < pods:
            _undo(state, row, on, moves)
            return False
        state.add(index, target, pods)
        moves.append((index, target, pods))
    return True


def _cost(state: State, index: int, row: int, pods: int) -> float:
    return pods * float(state.problem.classes[index].cost[row])


def _lift(state: State, row: int, on: Sequence[tuple[int, int]]) -> None:
    for index, pods in on:
        state.add(index, row, -pods)


def _undo(
    state: State, row: int, on: Sequence[tuple[int, int]], moves: Sequence[tuple[int, int, int]]
) -> None:
    for index, target, pods in moves:
        state.add(index, target, -pods)
    for index, pods in on:
        state.add(index, row, pods)
