"""The best placement of some pods on some nodes, by CP-SAT, around whatever is placed already.

The variables count pods of a class on a node. Relations hold for the state that the plan leads to; it can be
reached by binding pod after pod, see `tradewind.planner.binding`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from tradewind.planner.problem import Assignment, Attraction, Cap, Exclusion, Floor, Problem, Skew
from tradewind.planner.state import State

# The sum of all costs is scaled to this, so that the worth of pods on top stays within 64 bits.
_COST_RANGE = 10**6

Linear = Any  # the library's own type of expressions leaves out most of what can be added


@dataclass(frozen=True)
class Solution:
    assignment: Assignment  # of the pods and nodes asked for
    optimal: bool


def solve(
    base: State,
    rows: Sequence[int],
    counts: Mapping[int, int],
    *,
    seconds: float,
    hint: Assignment | None = None,
    workers: int = 2,
    until_placed: bool = False,
) -> Solution | None:
    """So many pods of each class onto these nodes; None where nothing was found in time.

    With `until_placed`, the first placement of all of them will do.
    """
    window = _Window(base, rows, counts)
    window.build()
    if hint is not None:
        window.hint(hint)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 1
    every = _Every(window.x.values(), sum(counts.values())) if until_placed else None
    status = solver.solve(window.model, every)
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    found = {key: int(solver.value(variable)) for key, variable in window.x.items()}
    return Solution({key: pods for key, pods in found.items() if pods}, status == cp_model.OPTIMAL)


class _Every(cp_model.CpSolverSolutionCallback):
    """Ends the search when a solution places every pod."""

    def __init__(self, variables: Iterable[cp_model.IntVar], pods: int) -> None:
        super().__init__()
        self._variables = list(variables)
        self._pods = pods

    def on_solution_callback(self) -> None:
        if sum(self.value(each) for each in self._variables) == self._pods:
            self.stop_search()


class _Window:
    def __init__(self, base: State, rows: Sequence[int], counts: Mapping[int, int]) -> None:
        self.base = base
        self.problem: Problem = base.problem
        self.rows = list(rows)
        self.counts = dict(counts)
        self.model = cp_model.CpModel()
        self.x: dict[tuple[int, int], cp_model.IntVar] = {}
        self.opened: dict[int, cp_model.IntVar] = {}
        self.by_class: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
        self.by_row: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)

    def build(self) -> None:
        self._variables()
        self._capacities()
        self._headroom()
        problem, base = self.problem, self.base
        for number, exclusion in enumerate(problem.exclusions):
            self._exclusion(exclusion, *base.exclusion_counts(number))
        for number, attraction in enumerate(problem.attractions):
            self._attraction(attraction, base.attraction_counts(number))
        for number, skew in enumerate(problem.skews):
            self._skew(skew, base.skew_counts(number))
        for number, cap in enumerate(problem.caps):
            self._cap(cap, base.cap_counts(number))
        for number, floor in enumerate(problem.floors):
            self._floor(floor, *base.floor_counts(number))
        for number, choice in enumerate(problem.choices):
            self.model.add(self._sum(choice.classes) <= max(choice.most - base.choice_count(number), 0))
        for gang in problem.gangs:
            self._gang(gang.classes, gang.least)
        self._symmetry()
        self._objective()

    def hint(self, hint: Assignment) -> None:
        for key, variable in self.x.items():
            self.model.add_hint(variable, min(hint.get(key, 0), self.counts[key[0]]))
        for row, opened in self.opened.items():
            self.model.add_hint(opened, any(hint.get((index, row), 0) for index, _ in self.by_row[row]))

    def _variables(self) -> None:
        for index, count in self.counts.items():
            capacity = self.base.capacity(index)
            for row in self.rows:
                most = min(int(capacity[row]), count)
                if most > 0:
                    variable = self.model.new_int_var(0, most, f"x{index}_{row}")
                    self.x[index, row] = variable
                    self.by_class[index].append((row, variable))
                    self.by_row[row].append((index, variable))
            self.model.add(sum(variable for _, variable in self.by_class[index]) <= count)

    def _capacities(self) -> None:
        problem, base = self.problem, self.base
        for row, placed in self.by_row.items():
            if not base.used[row]:
                opened = self.opened[row] = self.model.new_bool_var(f"open{row}")
                for _, variable in placed:
                    self.model.add(variable == 0).only_enforce_if(~opened)
            for resource, free in enumerate(base.free[:, row].tolist()):
                taken = [(int(problem.classes[i].requests[resource]), v) for i, v in placed]
                if any(amount for amount, _ in taken):
                    total = sum(amount * variable for amount, variable in taken if amount)
                    self.model.add(total <= (max(free, 0) * self.opened[row] if row in self.opened else free))

    def _headroom(self) -> None:
        """Where limits count: who needs most beyond its request comes first and finds the most free."""
        problem = self.problem
        for row, placed in self.by_row.items():
            for resource, free in enumerate(self.base.free[:, row].tolist()):
                slack = {i: int(problem.classes[i].needs[resource] - problem.classes[i].requests[resource])
                         for i, _ in placed}  # fmt: skip
                if not any(slack.values()):
                    continue
                taken: Linear = 0
                for index, variable in sorted(placed, key=lambda item: -slack[item[0]]):
                    taken = taken + int(problem.classes[index].requests[resource]) * variable
                    if slack[index]:
                        self.model.add(taken + slack[index] * self._any([variable]) <= free)

    def _exclusion(self, each: Exclusion, left_there: np.ndarray, right_there: np.ndarray) -> None:
        both = each.left & each.right
        for code, (left, right) in self._by_domain(each.codes, each.left, each.right).items():
            if left_there[code]:
                self.model.add(sum(v for _, v in right) == 0)
            if right_there[code]:
                self.model.add(sum(v for _, v in left) == 0)
            if not (left and right):
                continue
            if each.left == each.right:
                self.model.add(sum(v for _, v in left) <= 1)
                continue
            no_left, no_right = self.model.new_bool_var(""), self.model.new_bool_var("")
            self.model.add(sum(v for _, v in left) == 0).only_enforce_if(no_left)
            self.model.add(sum(v for _, v in right) == 0).only_enforce_if(no_right)
            modes = [no_left, no_right]
            if both:
                alone = self.model.new_bool_var("")
                modes.append(alone)
                everyone = {id(v): v for _, v in (*left, *right)}.values()
                self.model.add(sum(everyone) <= 1).only_enforce_if(alone)
            self.model.add_bool_or(modes)

    def _attraction(self, each: Attraction, counts: Sequence[np.ndarray]) -> None:  # noqa: C901  one relation
        followers = [(row, v) for index in sorted(each.followers) for row, v in self.by_class[index]]
        if not followers:
            return
        may_start = bool(each.starters) and not any(count.any() for count in counts)
        anchors = each.targets - each.followers
        starts: list[Linear] = []
        for codes, count in zip(each.codes, counts, strict=True):
            supported: dict[int, Linear] = {}
            first: list[cp_model.IntVar] = []
            anchored = self._by_domain(codes, anchors, frozenset())
            starting = self._by_domain(codes, each.starters, frozenset())
            for code in {int(codes[row]) for row, _ in followers}:
                if code < 0 or count[code]:
                    continue
                support: list[Linear] = [v for _, v in anchored.get(code, ([], []))[0]]
                if may_start and code in starting:
                    start = self.model.new_bool_var("")
                    self.model.add(sum(v for _, v in starting[code][0]) >= 1).only_enforce_if(start)
                    first.append(start)
                    support.append(start)
                supported[code] = sum(support)
            if first:
                self.model.add_at_most_one(first)
            starts.append(sum(first))
            for row, variable in followers:
                code = int(codes[row])
                if code < 0:
                    self.model.add(variable == 0)
                elif code in supported:
                    self.model.add(supported[code] >= 1).only_enforce_if(self._any([variable]))
        for other in starts[1:]:
            self.model.add(other == starts[0])

    def _skew(self, each: Skew, there: np.ndarray) -> None:
        bearers = self.by_class[each.bearer]
        if not bearers:
            return
        counted = self._by_domain(each.counting, each.counted, frozenset())
        pods: dict[int, Linear] = {
            code: int(there[code]) + sum(v for _, v in counted.get(code, ([], []))[0])
            for code in range(len(each.existing))
        }
        least: Linear = 0
        if each.enough:
            level = self.model.new_int_var(0, int(there.max(initial=0)) + sum(self.counts.values()), "")
            for code in np.flatnonzero(each.eligible).tolist():
                self.model.add(level <= pods[code])
            least = level
        for row, variable in bearers:
            code = int(each.codes[row])
            if code < 0:
                self.model.add(variable == 0)
                continue
            uncounted = int(each.itself and not (each.counting[row] >= 0 and each.bearer in each.counted))
            self.model.add(pods[code] + uncounted - least <= each.most).only_enforce_if(self._any([variable]))

    def _cap(self, each: Cap, there: np.ndarray) -> None:
        for index in each.classes:
            for row, variable in self.by_class[index]:
                if each.codes[row] < 0:
                    self.model.add(variable == 0)
        for code, (pods, _) in self._by_domain(each.codes, each.classes, frozenset()).items():
            self.model.add(sum(v for _, v in pods) <= max(each.most - int(there[code]), 0))

    def _floor(self, each: Floor, durable: int, total: int) -> None:
        placed = [(row, v) for index in each.classes for row, v in self.by_class[index]]
        spot = [v for row, v in placed if not self.problem.durable[row]]
        if not spot:
            return
        count = self.model.new_int_var(0, len(each.required) - 1, "")
        self.model.add(count == total + sum(v for _, v in placed))
        required = self.model.new_int_var(0, max(each.required), "")
        self.model.add_element(count, list(each.required), required)
        on_durable = durable + sum(v for row, v in placed if self.problem.durable[row])
        self.model.add(on_durable >= required).only_enforce_if(self._any(spot))

    def _gang(self, classes: frozenset[int], least: int) -> None:
        inside = sum(pods for (index, _), pods in self.base.assignment.items() if index in classes)
        here = [v for index in classes for _, v in self.by_class[index]]
        if inside:
            self.model.add(sum(here) >= least - inside)
        elif here:
            self.model.add(sum(here) >= least).only_enforce_if(self._any(here))

    def _symmetry(self) -> None:
        """Of nodes that are alike the earlier take the more pods: else the search proves each order anew."""
        for alike in alike_rows(self.base, [row for row in self.rows if row in self.by_row], self.counts):
            for earlier, later in pairwise(alike):
                self.model.add(
                    sum(v for _, v in self.by_row[earlier]) >= sum(v for _, v in self.by_row[later])
                )

    def _objective(self) -> None:
        problem = self.problem
        prices = {row: float(problem.price[row]) for row in self.opened}
        costs = {key: float(problem.classes[key[0]].cost[key[1]]) for key in self.x}
        dearest: dict[int, float] = defaultdict(float)
        for (index, _), cost in costs.items():
            dearest[index] = max(dearest[index], cost)
        total = sum(prices.values()) + sum(self.counts[i] * cost for i, cost in dearest.items())
        scale = _COST_RANGE / total if total > 0 else 0.0
        lowest = min(problem.worth, default=1.0)
        terms = [round(price * scale) * self.opened[row] for row, price in prices.items()]
        for (index, row), variable in self.x.items():
            worth = round(problem.worth[index] / lowest * 2 * _COST_RANGE)
            terms.append((round(costs[index, row] * scale) - worth) * variable)
        self.model.minimize(sum(terms))

    def _any(self, variables: Sequence[cp_model.IntVar]) -> cp_model.IntVar:
        """True as soon as one of them is above zero."""
        positive = self.model.new_bool_var("")
        for variable in variables:
            self.model.add(variable == 0).only_enforce_if(~positive)
        return positive

    def _sum(self, classes: frozenset[int]) -> Linear:
        return sum(v for index in classes for _, v in self.by_class[index])

    def _by_domain(
        self, codes: np.ndarray, left: frozenset[int], right: frozenset[int]
    ) -> dict[int, tuple[list[tuple[int, cp_model.IntVar]], list[tuple[int, cp_model.IntVar]]]]:
        found: dict[int, tuple[list[tuple[int, cp_model.IntVar]], list[tuple[int, cp_model.IntVar]]]]
        found = defaultdict(lambda: ([], []))
        for side, classes in enumerate((left, right)):
            for index in classes:
                for row, variable in self.by_class[index]:
                    if codes[row] >= 0:
                        found[int(codes[row])][side].append((index, variable))
        return found


def alike_rows(base: State, rows: Sequence[int], counts: Mapping[int, int]) -> list[list[int]]:
    """Groups of nodes that no pod of these classes can tell apart."""
    problem = base.problem
    classes = [problem.classes[index] for index in counts]
    allowed = np.array([each.allowed for each in classes], np.uint8).reshape(len(classes), -1)
    costs = np.array([each.cost for each in classes]).reshape(len(classes), -1)
    tied = any(base.ties)
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in rows:
        key = (
            base.free[:, row].tobytes(),
            float(problem.price[row]),
            bool(base.used[row]),
            bool(problem.durable[row]),
            allowed[:, row].tobytes(),
            costs[:, row].tobytes(),
            base.domains_of(row) if tied else (),
        )
        groups[key].append(row)
    return [alike for alike in groups.values() if len(alike) > 1]
