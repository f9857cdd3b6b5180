"""The batch as arrays: classes of equal pods, the nodes, and what ties the classes to each other.

Everything here can be sent to another process. Pods are known by their class and their number in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Codes = NDArray[np.intp]  # (N,) the domain of each node, -1 outside of all
Amounts = NDArray[np.int64]
Floats = NDArray[np.float64]

Assignment = Mapping[tuple[int, int], int]
"""(class, row of the node) to the number of pods there."""


class Outcome(NamedTuple):
    assignment: Assignment
    engine: str  # that found it


class Failure(NamedTuple):
    """What a solver says when it cannot go on."""

    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class PodClass:
    """Pods that nothing distinguishes: any of them may stand for any other."""

    count: int
    requests: Amounts  # (R,)
    needs: Amounts  # (R,) free at the moment of placing: the request, or the limit over its overcommit factor
    allowed: Mask  # (N,) by every rule that other pods of the batch cannot change for the better
    cost: Floats  # (N,) dollars an hour for one pod: expected loss, then what the scorers find wrong
    priority: int
    share: Floats  # (N,) the largest share of any resource that one pod takes of what the node has
    favour: int = 0  # among classes of equal priority the higher goes first


@dataclass(frozen=True, kw_only=True, eq=False)
class Exclusion:
    """No pod of a class in `left` shares a domain with another pod of a class in `right`."""

    codes: Codes
    left: frozenset[int]
    right: frozenset[int]

    @cached_property
    def one_node(self) -> bool:
        return distinct(self.codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attraction:
    """`followers` go only where pods of `targets`, or ones placed before, are: in a domain of every key.

    Where there are none anywhere, a follower in `starters` may be the first.
    """

    codes: tuple[Codes, ...]  # by key
    existing: tuple[Amounts, ...]  # by key, (D,) pods placed before
    followers: frozenset[int]
    targets: frozenset[int]
    starters: frozenset[int]

    @cached_property
    def one_node(self) -> tuple[bool, ...]:
        return tuple(distinct(codes) for codes in self.codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Skew:
    """With a pod of `bearer`, a domain has at most `most` counted pods more than the emptiest."""

    bearer: int
    codes: Codes
    counting: Codes  # the same, -1 also where pods are not counted
    existing: Amounts  # (D,)
    eligible: Mask  # (D,) domains among which the emptiest is looked for
    enough: bool  # else the emptiest counts as empty
    counted: frozenset[int]
    itself: bool  # whether the bearer counts when it looks at where it may go
    most: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Cap:
    """At most `most` pods of these classes in a domain, none outside of the domains."""

    codes: Codes
    existing: Amounts  # (D,)
    classes: frozenset[int]
    most: int

    @cached_property
    def one_node(self) -> bool:
        return distinct(self.codes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Floor:
    """Of a workload so many pods as `required` says are on durable nodes, or none of the batch is on spot."""

    classes: frozenset[int]
    durable: int  # placed before
    total: int
    required: tuple[int, ...]  # of so many pods, how many on durable nodes


@dataclass(frozen=True, kw_only=True, eq=False)
class Gang:
    """Pods of these classes are placed all, or at least `least` of them, or none."""

    name: str
    classes: frozenset[int]
    least: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Choice:
    """At most `most` pods of these classes are placed at all."""

    name: str
    classes: frozenset[int]
    most: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    node_names: tuple[str, ...]
    free: Amounts  # (R, N)
    price: Floats  # (N,) dollars an hour, of every node
    in_use: Mask  # (N,) already paid for by the pods on it
    durable: Mask  # (N,)
    classes: tuple[PodClass, ...]
    exclusions: tuple[Exclusion, ...] = ()
    attractions: tuple[Attraction, ...] = ()
    skews: tuple[Skew, ...] = ()
    caps: tuple[Cap, ...] = ()
    floors: tuple[Floor, ...] = ()
    gangs: tuple[Gang, ...] = ()
    choices: tuple[Choice, ...] = ()
    worth: tuple[float, ...] = field(default=())  # of one placed pod of each class, above any saving

    @property
    def pods(self) -> int:
        return sum(each.count for each in self.classes)


def distinct(codes: Codes) -> bool:
    """Whether no two nodes share a domain."""
    inside = codes[codes >= 0]
    return int(inside.max(initial=-1)) + 1 == inside.size


def placed_counts(problem: Problem, assignment: Assignment) -> list[int]:
    counts = [0] * len(problem.classes)
    for (index, _), pods in assignment.items():
        counts[index] += pods
    return counts


def money(problem: Problem, assignment: Assignment) -> float:
    """Dollars an hour: the price of every node in use afterwards."""
    used = problem.in_use.copy()
    used[[row for _, row in assignment]] = True
    return float(problem.price[used].sum())


def value(problem: Problem, assignment: Assignment) -> tuple[float, float]:
    """What is maximised: the worth of what is placed, then the negative of what it costs."""
    counts = placed_counts(problem, assignment)
    worth = sum(count * each for count, each in zip(counts, problem.worth, strict=True))
    arcs = sum(pods * problem.classes[index].cost[row] for (index, row), pods in assignment.items())
    return worth, -(money(problem, assignment) + float(arcs))
