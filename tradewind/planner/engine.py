"""Which engine places what: small batches exactly, others covered, recreated, then by windows; or a flow."""

import math
import time
from collections.abc import Callable

from tradewind.planner import completing, covering, exact, flow, recreate, refilling, windows
from tradewind.planner.binding import assignment_of, filled_order
from tradewind.planner.bound import fits
from tradewind.planner.problem import Assignment, Outcome, Problem, value
from tradewind.planner.progress import GAIN, Progress
from tradewind.planner.settings import Engine
from tradewind.planner.state import State

# Variables up to which CP-SAT gets the whole batch at once.
_WHOLE = 1500
# The same where it need not find the best, only a place for every pod.
_EVERY = 3500

# Pods from which on recreating has a moment before the solvers.
_POLISHED = 10

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
    many at least it goes on without a gain; `told` says that pods wait for its end. The flow is asked for as
    it is: it may cost more than the baseline, but not leave out what that places.
    """
    if not problem.classes or not problem.node_names:
        return
    started = time.monotonic()
    best = _Best(problem, baseline, report, Progress(idle, told))
    if engine == "flow":
        best.replace(flow.route(problem, started + seconds), "flow")
        return
    rows = _rows_that_matter(problem, _WHOLE)
    if not best.complete:
        # One unit a pod: where not all find a place, more do than if the largest come first.
        best.offer(flow.route(problem, started + seconds * 0.2), "flow", checked=False)
    if not best.complete:
        _place_every(best, patience or seconds * 0.4)
    if problem.pods >= _POLISHED:
        # On a busy machine the solvers may not even get to where this is at once.
        moment = time.monotonic() + recreate.MOMENT_SECONDS
        recreate.improve(problem, best.assignment, moment, best.offer_recreated)
    proved = None if rows is None else _proved(best, rows, seconds * 0.4)
    if proved is not None:
        if best.is_no_better_than(proved):
            report(Outcome(best.assignment, "exact"))
        return
    if rows is None or not best.progress.stalled():
        deadline = started + seconds * 0.4
        bound = covering.cover(problem, best.assignment, deadline, best.offer_cover, best.progress)
        if best.near(bound):
            return
        best.progress.begin()
    recreate.improve(problem, best.assignment, started + seconds * 0.7, best.offer_recreated, best.progress)
    windows.improve(problem, best.assignment, started + seconds, best.offer_window, best.progress)


def _place_every(best: "_Best", seconds: float) -> None:
    """Look for a place for every pod, where their sizes alone do not rule it out."""
    problem = best.problem
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    started = time.monotonic()
    fit = fits(problem, list(counts.values()), seconds)
    if not fit:
        best.note(impossible=fit is False)
        return
    rows = _rows_that_matter(problem, _EVERY)
    chance = 0.2 if rows is not None else 0.6
    refilled = refilling.refill(problem, best.assignment, started + seconds * chance)
    best.offer(refilled, "refilling", checked=False)
    if best.complete:
        return
    if rows is not None:
        limit = seconds * 0.6
        found = exact.solve(State(problem), rows, counts, seconds=limit, hint=best.assignment, every=True)
        if found is not None and not found.assignment:
            best.note(impossible=True)
            return
        if found is not None and best.offer(found.assignment, "cp-sat", checked=False):
            return
    completing.complete(problem, best.assignment, started + seconds, best.offer_window)


def _proved(best: "_Best", rows: list[int], seconds: float) -> Assignment | None:
    """The best placement that there is, where there was time to prove it."""
    problem = best.problem
    counts = {index: each.count for index, each in enumerate(problem.classes)}
    found = exact.solve(
        State(problem), rows, counts, seconds=seconds, hint=best.assignment, progress=best.progress
    )
    if found is not None and best.offer(found.assignment, "cp-sat", checked=False) and found.optimal:
        return found.assignment
    return None


class _Best:
    def __init__(self, problem: Problem, baseline: Assignment, report: Report, progress: Progress) -> None:
        self.problem = problem
        self.progress = progress
        self._report = report
        self._value = self._gained = value(problem, baseline)
        self.assignment = baseline
        self.engine = "greedy"
        self._impossible = False

    @property
    def complete(self) -> bool:
        return sum(self.assignment.values()) == self.problem.pods

    def offer_cover(self, assignment: Assignment) -> None:
        self.offer(assignment, "covering")

    def offer_recreated(self, assignment: Assignment) -> None:
        self.offer(assignment, f"{self.engine.removesuffix('+recreate')}+recreate")

    def offer_window(self, assignment: Assignment) -> None:
        self.offer(assignment, f"{self.engine.removesuffix('+windows')}+windows")

    def near(self, bound: float) -> bool:
        return self.complete and self.progress.near(-self._value[1], bound)

    def is_no_better_than(self, assignment: Assignment) -> bool:
        """But for the rounding of costs; the baseline may be better where a spread need not hold later."""
        worth, cost = value(self.problem, assignment)
        return worth >= self._value[0] and cost >= self._value[1] - 1e-4 * max(abs(cost), 1e-9)

    def offer(self, assignment: Assignment, engine: str, *, checked: bool = True) -> bool:
        """Take it if it is better; whether all of it could be bound."""
        kept, whole = (assignment, True) if checked else self._bindable(assignment)
        worth = value(self.problem, kept)
        if worth > self._value:
            if worth[0] > self._gained[0] or worth[1] - self._gained[1] > GAIN * abs(worth[1]):
                self._gained = worth
                self.progress.gained()
            self.assignment, self._value = kept, worth
            self.engine = engine
            self._report(Outcome(kept, self.engine, self._impossible))
        return whole

    def note(self, *, impossible: bool) -> None:
        """That no placement has all pods, if so."""
        self._impossible = impossible
        if impossible:
            self._report(Outcome(self.assignment, self.engine, impossible))

    def replace(self, assignment: Assignment, engine: str) -> None:
        """Take it unless it leaves out what had a place, whatever it costs."""
        kept, _ = self._bindable(assignment)
        if value(self.problem, kept)[0] >= self._value[0]:
            self._report(Outcome(kept, engine))

    def _bindable(self, assignment: Assignment) -> tuple[Assignment, bool]:
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
