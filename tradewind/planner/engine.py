"""Who places what: small batches are solved exactly, others by large neighbourhood search; or a flow."""

import math
from collections.abc import Callable

from tradewind.planner import exact, flow
from tradewind.planner.binding import assignment_of, filled_order
from tradewind.planner.bound import fits
from tradewind.planner.budget import GAIN, Budget
from tradewind.planner.problem import Assignment, Outcome, Problem, value
from tradewind.planner.rounding import round_relaxation
from tradewind.planner.search import Search
from tradewind.planner.settings import Engine
from tradewind.planner.state import State

# Variables up to which CP-SAT gets the whole batch at once.
_WHOLE = 1500
# The same where it need not find the best placement, only prove that there is none of every pod.
_EVERY = 3500
# Pods from which on the search has a moment before the solvers: on a busy machine they may start late.
_POLISHED = 10
_MOMENT_SECONDS = 0.05
# Of a plan's time: for a place for every pod, while pods wait for the plan and otherwise; for the proof of
# the best placement; for the linear programme.
_COMPLETING, _COMPLETING_AT_LEISURE, _PROVING, _ROUNDING = 0.5, 0.8, 0.4, 0.4
# Of the time for a place for every pod: what the search gets first, and what the proof that there is none.
_FIRST, _IMPOSSIBLE = 0.3, 0.2

Report = Callable[[Outcome], None]


def optimise(
    problem: Problem,
    baseline: Assignment,
    seconds: float,
    report: Report,
    patience: float = 0.0,
    *,
    idle: float = math.inf,
    told: Callable[[], bool] = lambda: False,
    engine: Engine = "auto",
) -> None:
    """Report ever better placements than the baseline, each of them valid, until the time is over.

    `patience` is for how many seconds more the search may look for a place for every pod; `idle` for how
    many at least it goes on without a gain; `told` says that pods wait for its end. The flow is taken as it
    is but for pods without a place: it may cost more than the baseline, but not leave out what that places.
    """
    if not problem.classes or not problem.node_names:
        return
    budget = Budget(seconds + patience, idle=idle, is_cancelled=told)
    best = _Best(problem, baseline, report, budget)
    placing = patience or seconds * (_COMPLETING if budget.can_stall else _COMPLETING_AT_LEISURE)
    if engine == "flow":
        _route(best, placing)
        return
    if not best.complete:
        _place_every(best, placing)
    search = Search(problem, best.assignment)
    if problem.pods >= _POLISHED:
        _save(best, search, Budget(_MOMENT_SECONDS))
    rows = _rows_that_matter(problem, _WHOLE)
    if rows is not None:
        if _solve_whole(best, rows, min(seconds * _PROVING, budget.seconds_left)) or budget.is_over():
            return
        search = Search(problem, best.assignment)
    budget.begin()
    rounded = round_relaxation(problem, best.assignment, min(seconds * _ROUNDING, budget.seconds_left))
    if rounded is not None:
        search = _better(best, search, Search(problem, rounded))
    budget.begin()
    _save(best, search, budget)


def _save(best: "_Best", search: Search, budget: Budget) -> None:
    search.save(budget, lambda found: best.offer(found, "search"))


def _better(best: "_Best", one: Search, other: Search) -> Search:
    """After a moment of search: only then two starts can be compared."""
    _save(best, other, Budget(_MOMENT_SECONDS))
    return max(one, other, key=lambda each: value(best.problem, each.state.assignment))


def _route(best: "_Best", seconds: float) -> None:
    """Take the flow; no search makes it cheaper, but pods without a place are searched for as ever."""
    problem, left = best.problem, best.budget
    routed = best.bindable(flow.route(problem, left.deadline))[0]
    if sum(routed.values()) < problem.pods:
        budget = Budget(min(seconds * _FIRST, left.seconds_left))
        routed = best.bindable(Search(problem, routed).place_every(budget))[0]
    best.replace(routed, "flow")
    if not best.complete:
        _place_every(best, min(seconds, left.seconds_left))


def _place_every(best: "_Best", seconds: float) -> None:
    """Look for a place for every pod, unless it is proved that there is none."""
    budget = Budget(seconds)
    search = Search(best.problem, best.assignment)
    best.offer(search.place_every(Budget(seconds * _FIRST)), "search", checked=False)
    if not best.complete and not _prove_impossible(best, seconds * _IMPOSSIBLE):
        best.offer(search.place_every(budget), "search", checked=False)


def _prove_impossible(best: "_Best", seconds: float) -> bool:
    """Whether no placement has all pods; if one is found on the way, it is taken."""
    problem = best.problem
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    impossible = fits(problem, list(counts.values()), seconds / 2) is False
    rows = _rows_that_matter(problem, _EVERY)
    if not impossible and rows is not None:
        limit = seconds / 2
        found = exact.solve(State(problem), rows, counts, seconds=limit, hint=best.assignment, every=True)
        impossible = found is not None and not found.assignment
        if found is not None and found.assignment:
            best.offer(found.assignment, "cp-sat", checked=False)
    best.note(impossible=impossible)
    return impossible or best.complete


def _solve_whole(best: "_Best", rows: list[int], seconds: float) -> bool:
    """Solve the whole batch exactly; whether the best placement is proved."""
    problem = best.problem
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    found = exact.solve(
        State(problem), rows, counts, seconds=seconds, hint=best.assignment, budget=best.budget
    )
    if found is None or not (best.offer(found.assignment, "cp-sat", checked=False) and found.optimal):
        return False
    if best.is_no_better_than(found.assignment):
        best.claim("exact")
    return True


class _Best:
    def __init__(self, problem: Problem, baseline: Assignment, report: Report, budget: Budget) -> None:
        self.problem = problem
        self.budget = budget
        self._report = report
        self._value = self._gained = value(problem, baseline)
        self.assignment = baseline
        self.engine = "greedy"
        self._impossible = False

    @property
    def complete(self) -> bool:
        return sum(self.assignment.values()) == self.problem.pods

    def is_no_better_than(self, assignment: Assignment) -> bool:
        """But for the rounding of costs; the baseline may be better where a spread need not hold later."""
        worth, cost = value(self.problem, assignment)
        return worth >= self._value[0] and cost >= self._value[1] - 1e-4 * max(abs(cost), 1e-9)

    def offer(self, assignment: Assignment, engine: str, *, checked: bool = True) -> bool:
        """Take it if it is better; whether all of it could be bound."""
        kept, whole = (assignment, True) if checked else self.bindable(assignment)
        worth = value(self.problem, kept)
        if worth > self._value:
            if worth[0] > self._gained[0] or worth[1] - self._gained[1] > GAIN * abs(worth[1]):
                self._gained = worth
                self.budget.record_gain()
            self.assignment, self._value = kept, worth
            self.engine = engine
            self._report(Outcome(kept, self.engine, self._impossible))
        return whole

    def claim(self, engine: str) -> None:
        """Say that it is this engine's, as it stands."""
        self._report(Outcome(self.assignment, engine))

    def note(self, *, impossible: bool) -> None:
        """That no placement has all pods, if so."""
        self._impossible = impossible
        if impossible:
            self._report(Outcome(self.assignment, self.engine, impossible))

    def replace(self, assignment: Assignment, engine: str) -> None:
        """Take it unless it leaves out what had a place, whatever it costs."""
        found = value(self.problem, assignment)
        if found[0] >= self._value[0]:
            self.assignment, self.engine = assignment, engine
            self._value = self._gained = found
            self._report(Outcome(assignment, engine))

    def bindable(self, assignment: Assignment) -> tuple[Assignment, bool]:
        """What can be bound of it, filled up, and whether all of it can."""
        filled = assignment_of(filled_order(self.problem, assignment))
        return filled, all(filled.get(key, 0) >= pods for key, pods in assignment.items())


def _rows_that_matter(problem: Problem, most: int) -> list[int] | None:
    """The nodes of an exact model of the whole batch, or None where that would be too large.

    Of nodes that are alike no more are needed than there are pods.
    """
    classes = len(problem.classes)
    if not classes or len(problem.node_names) > 100 * most // classes:
        return None
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    every = range(len(problem.node_names))
    alike = exact.alike_rows(State(problem), every, counts)
    spare = {row for group in alike for row in group[problem.pods :]}
    rows = [row for row in every if row not in spare and any(c.allowed[row] for c in problem.classes)]
    return rows if len(rows) * classes <= most else None
