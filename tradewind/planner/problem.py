"""The batch as arrays: classes of equal pods, the nodes, and what ties the classes to each other.

Everything here can be sent to another process. Pods are known by their class and their number in it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradewind.planner.relations.preference import Preference, PreferenceTally
from tradewind.planner.relations.relation import Relation
from tradewind.planner.settings import Engine

Mask = NDArray[np.bool_]
Codes = NDArray[np.intp]  # (N,) the domain of each node, -1 outside of all
Amounts = NDArray[np.int64]
Floats = NDArray[np.float64]

# Up to so many pods without favour may stay out for one with it.
_FAVOUR_STEP = 16

Assignment = Mapping[tuple[int, int], int]
"""(class, row of the node) to the number of pods there."""


class Options(NamedTuple):
    """How the solvers go about it, see `engine.optimise`."""

    patience: float
    idle: float
    engine: Engine


class Outcome(NamedTuple):
    assignment: Assignment
    engine: str  # that found it
    impossible: bool = False  # it is proved that no placement has all pods


class Failure(NamedTuple):
    """What a solver says when it cannot go on."""

    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class PodClass:
    """Pods that nothing distinguishes: any of them may stand for any other."""

    count: int
    requests: Amounts  # (R,) of each resource, then of each other account
    allowed: Mask  # (N,) by every rule that other pods of the batch cannot change for the better
    cost: Floats  # (N,) dollars an hour for one pod: expected loss, then what the scorers find wrong
    priority: int
    share: Floats  # (N,) the largest share of any resource that one pod takes of what the node has
    step: float = 0.0  # dollars an hour of `share` that each pod more on a node costs beyond; 0 packs
    favour: int = 0  # among classes of equal priority the higher goes first
    wish: float = 0.0  # dollars an hour that a missed preference of weight 100 costs a pod


@dataclass(frozen=True, kw_only=True, eq=False)
class Gang:
    """At least `min_pods` pods of these classes are placed, or none."""

    name: str
    classes: frozenset[int]
    min_pods: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    node_names: tuple[str, ...]
    free: Amounts  # (R, N)
    price: Floats  # (N,) dollars an hour, of every node
    opening: Floats  # (N,) what counts of it where the node has to be opened, see `Rent`
    in_use: Mask  # (N,) already paid for by the pods on it
    durable: Mask  # (N,)
    classes: tuple[PodClass, ...]
    relations: tuple[Relation, ...] = ()
    preferences: tuple[Preference, ...] = ()
    gangs: tuple[Gang, ...] = ()

    @cached_property
    def worth(self) -> tuple[int, ...]:
        """Of one placed pod of each class, above any saving."""
        return worths([(each.priority, each.favour, each.count) for each in self.classes])

    @property
    def pods(self) -> int:
        return sum(each.count for each in self.classes)


def worths(levels: Sequence[tuple[int, int, int]]) -> tuple[int, ...]:
    """Of one pod of each (priority, favour, number of pods): more than that of all pods of lower priority.

    Integers of any size, so that no number of pods outweighs one of a higher priority.
    """
    counts = Counter[tuple[int, int]]()
    for priority, favour, pods in levels:
        counts[priority, favour] += pods
    found: dict[tuple[int, int], int] = {}
    below = 0
    for priority in sorted({priority for priority, _ in counts}):
        weight, within = 1, 0
        for level in sorted(level for level in counts if level[0] == priority):
            if within:
                weight = min(weight * _FAVOUR_STEP, within + 1)
            found[level] = weight * (below + 1)
            within += weight * counts[level]
        below += within * (below + 1)
    return tuple(found[priority, favour] for priority, favour, _ in levels)


def placed_counts(problem: Problem, assignment: Assignment) -> list[int]:
    counts = [0] * len(problem.classes)
    for (index, _), pods in assignment.items():
        counts[index] += pods
    return counts


def money(problem: Problem, assignment: Assignment) -> float:
    """Dollars an hour: the price of every node in use afterwards."""
    return float(problem.price[_used(problem, assignment)].sum())


def class_cost(each: PodClass, row: int, pods: int) -> float:
    """Of so many pods of the class on one node, beside the node's price."""
    return pods * float(each.cost[row]) + each.step * float(each.share[row]) * (pods * (pods - 1) // 2)


def value(problem: Problem, assignment: Assignment) -> tuple[int, float]:
    """What is maximised: the worth of what is placed, then the negative of what it costs."""
    counts = placed_counts(problem, assignment)
    worth = sum(count * each for count, each in zip(counts, problem.worth, strict=True))
    arcs = sum(class_cost(problem.classes[index], row, pods) for (index, row), pods in assignment.items())
    opened = float(problem.opening[_used(problem, assignment)].sum())
    return worth, -(opened + float(arcs) + _missed(problem, assignment))


def _missed(problem: Problem, assignment: Assignment) -> float:
    """Dollars an hour of the preferences between the pods."""
    tallies = [each.tally() for each in problem.preferences]
    by_class = defaultdict[int, list[PreferenceTally]](list)
    for preference, tally in zip(problem.preferences, tallies, strict=True):
        for index in preference.members():
            by_class[index].append(tally)
    for (index, row), pods in assignment.items() if tallies else ():
        for tally in by_class[index]:
            tally.count(index, row, pods)
    return sum(tally.total() for tally in tallies)


def _used(problem: Problem, assignment: Assignment) -> Mask:
    used = problem.in_use.copy()
    used[[row for _, row in assignment]] = True
    return used
