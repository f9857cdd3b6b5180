"""Which pods may be bound together: each is accepted at its node, in whatever order the others come.

kube-scheduler binds pods in an order of its own. Rules that only get tighter as pods come need no care:
resources, limits, anti-affinity, host ports, caps and choices hold at the end of a wave, so they held all the
time. For the others a wave has to be safe in the worst order, which their relations know (`Tally.wave`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.planner.binding import Step
from tradewind.planner.deadline import NEVER, ensure_time
from tradewind.planner.problem import Problem
from tradewind.planner.relations.relation import WaveCheck
from tradewind.planner.state import State

Wave = Sequence[tuple[Step, int]]  # and how many pods of the class go to that node


@dataclass(frozen=True, eq=False)
class _Care:
    """What the order of binding matters to."""

    problem: Problem
    ties: Sequence[Sequence[int]]  # by class, the numbers of its relations that are ordered


def waves(problem: Problem, order: Sequence[Step], deadline: float = NEVER) -> list[Wave]:
    """All pods of a valid order in few waves; in one, where no rule looks at the order.

    Raise OutOfTimeError where that takes longer.
    """
    assignment = Counter(order)
    care = _Care(problem, _ordered_ties(problem))
    rest = {step: pods for step, pods in assignment.items() if care.ties[step[0]]}
    free = [(step, pods) for step, pods in assignment.items() if step not in rest]
    found = _gathered(care, dict(rest), deadline)
    if sum(pods for wave in found for _, pods in wave) < sum(rest.values()):
        found = _cut(care, [step for step in order if step in rest], deadline)
    if not free:
        return found
    return [[*free, *found[0]], *found[1:]] if found else [free]


def _ordered_ties(problem: Problem) -> list[list[int]]:
    ties: list[list[int]] = [[] for _ in problem.classes]
    for number, relation in enumerate(problem.relations):
        for index in relation.members() if relation.ordered else ():
            ties[index].append(number)
    return ties


def _gathered(care: _Care, waiting: dict[Step, int], deadline: float) -> list[Wave]:
    """Each wave with all that may come with it, from the whole batch; ends early where that goes wrong."""
    state = State(care.problem)
    found: list[Wave] = []
    while waiting:
        ensure_time(deadline)
        wave = _Wave(care, state)
        joined = [(step, wave.join(step, pods)) for step, pods in waiting.items()]
        found.append([(step, pods) for step, pods in joined if pods])
        if not found[-1]:
            return found[:-1]
        for step, pods in found[-1]:
            state.add(*step, pods)
            waiting[step] -= pods
            if not waiting[step]:
                del waiting[step]
    return found


def _cut(care: _Care, order: Sequence[Step], deadline: float) -> list[Wave]:
    """The order as it is, in as many pieces as it takes: always possible, as a pod alone is a piece."""
    state = State(care.problem)
    wave = _Wave(care, state)
    pieces: list[Counter[Step]] = [Counter()]
    for step in order:
        if not wave.join(step, 1):
            ensure_time(deadline)
            for each, pods in pieces[-1].items():
                state.add(*each, pods)
            wave = _Wave(care, state)
            wave.join(step, 1)
            pieces.append(Counter())
        pieces[-1][step] += 1
    return [list(piece.items()) for piece in pieces if piece]


class _Wave:
    """A wave in the making, on top of what the state holds."""

    def __init__(self, care: _Care, state: State) -> None:
        self._care = care
        self._state = state
        self._checks: dict[int, WaveCheck] = {}  # by number of the relation

    def join(self, step: Step, pods: int) -> int:
        """How many of these pods are let in."""
        index, row = step
        checks = [self._check(number) for number in self._care.ties[index]]
        for check in checks:
            pods = check.admit(index, row, pods)
        if pods:
            for check in checks:
                check.book(index, row, pods)
        return pods

    def _check(self, number: int) -> WaveCheck:
        check = self._checks.get(number)
        if check is None:
            check = self._checks[number] = self._state.tallies[number].wave()
        return check
