"""The rules in force, applied together."""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from scoring.rules import Filter, Hint, InTree, Mask, Scorer, Scores, all_nodes
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.table import Rows
from tradewind.errors import TooLateError

Placement = Literal["pack", "spread"]
"""What a plan does with the pods of a class: the cheapest nodes, or equally many on each."""


PREFERENCES = 0.5
"""The default weight, in plans, of what a pod prefers."""


class Rejection(NamedTuple):
    """Nodes that passed all earlier filters and not this one."""

    rule: Filter
    rows: Rows


class WeightedScores(NamedTuple):
    """What one scorer adds to the total: its scores times its weight."""

    rule: Scorer
    weight: float
    scores: Scores


@dataclass(frozen=True)
class Verdict:
    feasible: Mask
    rejections: tuple[Rejection, ...]


@dataclass(frozen=True)
class Policy:
    filters: tuple[Filter, ...]
    scorers: tuple[tuple[Scorer, float], ...]  # with their weights
    workload_class: str = "default"
    placement: Placement = "pack"
    preferences: float = PREFERENCES  # the weight, in plans, of a preference of weight 100

    @cached_property
    def own(self) -> "Policy":
        """Without the filters that kube-scheduler applies itself."""
        return replace(self, filters=tuple(rule for rule in self.filters if not isinstance(rule, InTree)))

    @cached_property
    def _without_hints(self) -> tuple[Filter, ...]:
        return tuple(rule for rule in self.filters if not isinstance(rule, Hint))

    def filter(self, pod: Pod, nodes: Nodes, deadline: float = math.inf) -> Verdict:
        """Raise TooLateError when a rule has not answered before the deadline, on the monotonic clock."""
        feasible = silent = all_nodes(len(nodes))
        rejections = []
        for rule in self.filters if hinted(pod, nodes) else self._without_hints:
            passed = rule.feasible(pod, nodes)
            _check(deadline, rule)
            if passed is silent or np.count_nonzero(passed) == passed.size:
                continue
            rows = np.flatnonzero(feasible > passed)  # so far, and not by this one
            if rows.size:
                rejections.append(Rejection(rule, rows))
                feasible = feasible & passed
        return Verdict(feasible, tuple(rejections))

    def terms(self, pod: Pod, nodes: Nodes, deadline: float = math.inf) -> Iterator[WeightedScores]:
        """Raise TooLateError when a rule has not answered before the deadline, on the monotonic clock."""
        for rule, weight in self.scorers:
            if weight:
                yield WeightedScores(rule, weight, rule.score(pod, nodes))
                _check(deadline, rule)

    def total(self, pod: Pod, nodes: Nodes) -> Scores:
        return weighted_sum(self.terms(pod, nodes), len(nodes))


def _check(deadline: float, rule: Filter | Scorer) -> None:
    if time.monotonic() > deadline:
        raise TooLateError(f"rule {rule.name} answered after the deadline")


def hinted(pod: Pod, nodes: Nodes) -> bool:
    """Whether any hint, its own or that of another pod, may speak of the pod; no other pod pays for hints."""
    return bool(pod.annotations or pod.gang or nodes.cluster.roster.reaching)


def weighted_sum(terms: Iterable[WeightedScores], count: int) -> Scores:
    """(N,) the totals of `count` nodes."""
    total = np.zeros(count)
    for _, weight, scores in terms:
        total += scores if weight == 1 else weight * scores  # each step over some hundred nodes counts
    return total
