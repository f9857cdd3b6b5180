"""The best placement of some pods on some nodes, by CP-SAT, around whatever is placed already.

The variables count pods of a class on a node. Relations hold for the state that the plan leads to; it can be
reached by binding pod after pod, see `tradewind.planner.binding`.
"""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from tradewind.planner.budget import GAIN, Budget
from tradewind.planner.problem import Assignment, Codes, Problem, worths
from tradewind.planner.state import State

_LOOK_SECONDS = 0.02  # at whether a search still gains

# The sum of all costs is scaled to this, a placed pod is worth twice as much or more. The solver compares
# objectives as floats: pods whose worth in sum exceeds what these hold exactly are placed before the others.
_COST_RANGE = 10**6
_MOST_WORTH = 2**52 // (2 * _COST_RANGE)

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
    every: bool = False,
    budget: Budget | None = None,
) -> Solution | None:
    """So many pods of each class onto these nodes; None where nothing was found in time.

    With `every`, only a placement of all of them will do, and the first of these does; an empty solution that
    is optimal then is the proof that there is none. With `budget`, the search ends when that is over.
    """
    window = _Window(base, rows, counts, every=every)
    window.build()
    if hint is not None:
        window.hint(hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = 1
    deadline = time.monotonic() + seconds
    stages = [{}] if every else window.stages()
    best: Solution | None = None
    for left in range(len(stages), 0, -1):
        worth = stages[-left]
        if not every:
            window.objective(worth, last=left == 1)
        solver.parameters.max_time_in_seconds = max((deadline - time.monotonic()) / left, 0.01)
        with _stopping(solver, budget):
            status = solver.solve(window.model, None if every or budget is None else _Solutions(budget))
        if every and status == cp_model.INFEASIBLE:
            return Solution({}, optimal=True)
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            return best and Solution(best.assignment, optimal=False)
        found = {key: int(solver.value(variable)) for key, variable in window.x.items()}
        proved = status == cp_model.OPTIMAL and (best is None or best.optimal)
        best = Solution({key: pods for key, pods in found.items() if pods}, proved)
        if left > 1:
            window.keep(best.assignment, worth)
    return best


@contextlib.contextmanager
def _stopping(solver: cp_model.CpSolver, budget: Budget | None) -> Iterator[None]:
    """Ends the search from beside: between two solutions the solver asks nobody."""
    if budget is None or not budget.can_stall:
        yield
        return
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_SECONDS):
            if budget.is_stalled():
                solver.stop_search()

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()


class _Solutions(cp_model.CpSolverSolutionCallback):
    """Records gains."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget
        self._best: float | None = None

    def on_solution_callback(self) -> None:
        if self._best is None or self.objective_value < self._best - GAIN * _COST_RANGE:
            self._best = self.objective_value
            self._budget.record_gain()


class _Window:
    def __init__(
        self, base: State, rows: Sequence[int], counts: Mapping[int, int], *, every: bool = False
    ) -> None:
        self.base = base
        self.every = every
        self.problem: Problem = base.problem
        self.rows = list(rows)
        self.counts = dict(counts)
        self.pods = sum(counts.values())
        self.model = cp_model.CpModel()
        self.x: dict[tuple[int, int], cp_model.IntVar] = {}
        self.opened: dict[int, cp_model.IntVar] = {}
        self.by_class: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)
        self.by_row: dict[int, list[tuple[int, cp_model.IntVar]]] = defaultdict(list)

    def build(self) -> None:
        self._variables()
        self._capacities()
        for tally in self.base.tallies:
            tally.constrain(self)
        for gang in self.problem.gangs:
            self._gang(gang.classes, gang.min_pods)
        self._symmetry()

    def stages(self) -> list[dict[int, int]]:
        """The worth of a pod of each class: those of the highest priorities first, as many as it can sum."""
        found: list[dict[int, int]] = []
        for priority in sorted({self.problem.classes[index].priority for index in self.counts}, reverse=True):
            here = [index for index in self.counts if self.problem.classes[index].priority == priority]
            both = self._worths([*(found[-1] if found else ()), *here])
            if found and sum(each * self.counts[index] for index, each in both.items()) <= _MOST_WORTH:
                found[-1] = both
            else:
                found.append(self._worths(here))
        return found or [{}]

    def _worths(self, classes: Sequence[int]) -> dict[int, int]:
        each = [self.problem.classes[index] for index in classes]
        levels = [(one.priority, one.favour, self.counts[i]) for i, one in zip(classes, each, strict=True)]
        return dict(zip(classes, worths(levels), strict=True))

    def keep(self, found: Assignment, worth: Mapping[int, int]) -> None:
        """No less is placed of these from now on; other pods may move them elsewhere."""
        placed = sum(worth[index] * variable for (index, _), variable in self.x.items() if index in worth)
        self.model.add(placed >= sum(worth.get(index, 0) * pods for (index, _), pods in found.items()))
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        self.hint(found)

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
            placed = sum(variable for _, variable in self.by_class[index])
            self.model.add(placed == count if self.every else placed <= count)

    def _capacities(self) -> None:
        problem, base = self.problem, self.base
        for row, placed in self.by_row.items():
            if not (base.used[row] or self.every):
                opened = self.opened[row] = self.model.new_bool_var(f"open{row}")
                for _, variable in placed:
                    self.model.add(variable == 0).only_enforce_if(~opened)
            for resource, free in enumerate(base.free[:, row].tolist()):
                taken = [(int(problem.classes[i].requests[resource]), v) for i, v in placed]
                if any(amount for amount, _ in taken):
                    total = sum(amount * variable for amount, variable in taken if amount)
                    self.model.add(total <= (max(free, 0) * self.opened[row] if row in self.opened else free))

    def _gang(self, classes: frozenset[int], least: int) -> None:
        inside = sum(pods for (index, _), pods in self.base.assignment.items() if index in classes)
        here = [v for index in classes for _, v in self.by_class[index]]
        if inside:
            self.model.add(sum(here) >= least - inside)
        elif here:
            self.model.add(sum(here) >= least).only_enforce_if(self.any(here))

    def _symmetry(self) -> None:
        """Of nodes that are alike the earlier take the more pods: else the search proves each order anew."""
        for alike in alike_rows(self.base, [row for row in self.rows if row in self.by_row], self.counts):
            for earlier, later in pairwise(alike):
                self.model.add(
                    sum(v for _, v in self.by_row[earlier]) >= sum(v for _, v in self.by_row[later])
                )

    def objective(self, worth: Mapping[int, int], *, last: bool) -> None:
        """What is placed; and in the last stage what it costs."""
        if last:
            self._minimise_cost(worth)
        else:
            self.model.maximize(sum(worth[i] * x for (i, _), x in self.x.items() if i in worth))

    def _minimise_cost(self, worth_of: Mapping[int, int]) -> None:
        problem = self.problem
        prices = {row: float(problem.opening[row]) for row in self.opened}
        costs = {key: float(problem.classes[key[0]].cost[key[1]]) for key in self.x}
        dearest: dict[int, float] = defaultdict(float)
        for (index, _), cost in costs.items():
            dearest[index] = max(dearest[index], cost)
        steps = self._steps()
        total = sum(prices.values()) + sum(self.counts[i] * cost for i, cost in dearest.items())
        total += sum(step * most for step, most, _ in steps)
        charges = [each for tally in self.base.preferences for each in tally.charges(self)]
        total += sum(each.dollars * each.most for each in charges)
        scale = _COST_RANGE / total if total > 0 else 0.0
        terms = [round(price * scale) * self.opened[row] for row, price in prices.items()]
        for (index, row), variable in self.x.items():
            worth = 2 * _COST_RANGE * worth_of.get(index, 0)
            terms.append((round(costs[index, row] * scale) - worth) * variable)
        terms += [round(step * scale) * climbed for step, _, climbed in steps]
        terms += [round(each.dollars * scale) * each.amount for each in charges]
        self.model.minimize(sum(terms))

    def _steps(self) -> list[tuple[float, int, cp_model.IntVar]]:
        """What a step costs, the most and the number of steps where pods are spread: n(n - 1)/2 on a node."""
        found = []
        for (index, row), pods in self.x.items():
            most = min(int(self.base.capacity(index)[row]), self.counts[index])
            each = self.problem.classes[index]
            if each.step and most > 1:
                climbed = self.model.new_int_var(0, most * (most - 1) // 2, f"steps{index}_{row}")
                for number in range(1, most):
                    self.model.add(climbed >= number * pods - number * (number + 1) // 2)
                found.append((each.step * float(each.share[row]), most * (most - 1) // 2, climbed))
        return found

    def any(self, variables: Sequence[cp_model.IntVar]) -> cp_model.IntVar:
        positive = self.model.new_bool_var("")
        for variable in variables:
            self.model.add(variable == 0).only_enforce_if(~positive)
        return positive

    def placed(self, classes: Iterable[int]) -> list[tuple[int, cp_model.IntVar]]:
        return [each for index in classes for each in self.by_class[index]]

    def by_domain(self, codes: Codes, classes: Iterable[int]) -> dict[int, list[cp_model.IntVar]]:
        found: dict[int, list[cp_model.IntVar]] = defaultdict(list)
        for row, variable in self.placed(classes):
            if codes[row] >= 0:
                found[int(codes[row])].append(variable)
        return found


def alike_rows(base: State, rows: Sequence[int], counts: Mapping[int, int]) -> list[list[int]]:
    """Groups of nodes that no pod of these classes can tell apart."""
    problem = base.problem
    classes = [problem.classes[index] for index in counts]
    allowed = np.array([each.allowed for each in classes], np.uint8).reshape(len(classes), -1)
    costs = np.array([each.cost for each in classes]).reshape(len(classes), -1)
    tied = any(base.ties) or any(base.wishes)
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for row in rows:
        key = (
            base.free[:, row].tobytes(),
            float(problem.opening[row]),
            bool(base.used[row]),
            bool(problem.durable[row]),
            allowed[:, row].tobytes(),
            costs[:, row].tobytes(),
            base.domains_of(row) if tied else (),
        )
        groups[key].append(row)
    return [alike for alike in groups.values() if len(alike) > 1]
