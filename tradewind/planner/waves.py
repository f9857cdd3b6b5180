"""Which pods may be bound together: each is accepted at its node, in whatever order the others come.

kube-scheduler binds pods in an order of its own. Rules that only get tighter as pods come need no care:
resources, anti-affinity, host ports, caps and choices hold at the end of a wave, so they held all the time.
For the others a wave has to be safe in the worst order:

- affinity: what a pod follows is there before the wave; the first pods of a kind that wants to be with itself
  may come together, if all that they could follow in this wave are in the same domains;
- spread: a domain with all that the wave adds to it, against the emptiest domain before the wave;
- durable floor: all spot pods of the wave before any durable one;
- limits above requests: a pod finds free what it needs after all others of the wave on its node.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tradewind.planner.binding import Step
from tradewind.planner.problem import Amounts, Attraction, Floor, Problem, Skew
from tradewind.planner.state import State

Wave = Sequence[tuple[Step, int]]  # and how many pods of the class go to that node

_ORDERED = frozenset({"attraction", "skew", "floor"})
_NOTHING = np.iinfo(np.int64).min // 4


@dataclass(frozen=True, eq=False)
class _Care:
    """What the order of binding matters to."""

    problem: Problem
    ties: Sequence[Sequence[tuple[str, int]]]  # by class, the kind and number of its relations
    tight: frozenset[int]  # rows


def waves(problem: Problem, order: Sequence[Step]) -> list[Wave]:
    """All pods of a valid order in few waves; in one, where no rule looks at the order."""
    assignment = Counter(order)
    state = State(problem)
    ties = [[tie for tie in each if tie[0] in _ORDERED] for each in state.ties]
    care = _Care(problem, ties, _tight_rows(problem, assignment))
    rest = {step: pods for step, pods in assignment.items() if ties[step[0]] or step[1] in care.tight}
    free = [(step, pods) for step, pods in assignment.items() if step not in rest]
    found = _gathered(care, state, dict(rest))
    if sum(pods for wave in found for _, pods in wave) < sum(rest.values()):
        found = _cut(care, [step for step in order if step in rest])
    if not free:
        return found
    return [[*free, *found[0]], *found[1:]] if found else [free]


def _gathered(care: _Care, state: State, waiting: dict[Step, int]) -> list[Wave]:
    """Each wave with all that may come with it, from the whole batch; ends early where that goes wrong."""
    found: list[Wave] = []
    while waiting:
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


def _cut(care: _Care, order: Sequence[Step]) -> list[Wave]:
    """The order as it is, in as many pieces as it takes: always possible, as a pod alone is a piece."""
    state = State(care.problem)
    wave = _Wave(care, state)
    pieces: list[Counter[Step]] = [Counter()]
    for step in order:
        if not wave.join(step, 1):
            for each, pods in pieces[-1].items():
                state.add(*each, pods)
            wave = _Wave(care, state)
            wave.join(step, 1)
            pieces.append(Counter())
        pieces[-1][step] += 1
    return [list(piece.items()) for piece in pieces if piece]


def _tight_rows(problem: Problem, assignment: Mapping[Step, int]) -> frozenset[int]:
    """Nodes on which, after all of it, some pod would not find what it needs beyond its request."""
    if not any(np.any(each.needs > each.requests) for each in problem.classes):
        return frozenset()
    free = problem.free.copy()
    for (index, row), pods in assignment.items():
        free[:, row] -= pods * problem.classes[index].requests
    return frozenset(row for index, row in assignment if np.any(free[:, row] < _beyond(problem, index)))


def _beyond(problem: Problem, index: int) -> Amounts:
    """(R,) what must be left when the pod is there; less than anything where it does not ask."""
    each = problem.classes[index]
    return np.where(each.needs > 0, each.needs - each.requests, _NOTHING)


class _Wave:
    """A wave in the making, on top of what the state holds."""

    def __init__(self, care: _Care, state: State) -> None:
        self._care = care
        self._problem = care.problem
        self._state = state
        self._targets: dict[int, set[tuple[int, ...]]] = {}  # attraction to the domains of its targets
        self._opened: dict[int, tuple[int, ...]] = {}  # attraction to the domains of its first pods
        self._added = Counter[tuple[int, int]]()  # skew and domain to counted pods
        self._strictest: dict[tuple[int, int], int] = {}  # the same to what its bearers add to the count
        self._least: dict[int, int] = {}  # skew to the pods of its emptiest domain
        self._spot = Counter[int]()  # floor to pods on spot nodes
        self._left: dict[int, Amounts] = {}  # tight row to what is free after the wave
        self._bar: dict[int, Amounts] = {}  # tight row to what must be

    def join(self, step: Step, pods: int) -> int:
        """How many of these pods are let in."""
        index, row = step
        ties = self._care.ties[index]
        for kind, number in ties:
            match kind:
                case "attraction":
                    pods = pods if self._near(self._problem.attractions[number], number, step) else 0
                case "skew":
                    pods = min(pods, self._level(self._problem.skews[number], number, step))
                case "floor":
                    pods = self._above(self._problem.floors[number], number, row, pods)
        if row in self._care.tight:
            pods = self._fitting(index, row, pods)
        if pods:
            self._book(ties, step, pods)
        return pods

    def _near(self, each: Attraction, number: int, step: Step) -> bool:
        index, row = step
        counts = self._state.attraction_counts(number)
        codes = tuple(int(column[row]) for column in each.codes)
        if any(count.any() for count in counts):
            return index not in each.followers or all(
                count[code] > 0 for count, code in zip(counts, codes, strict=True)
            )
        if index in each.followers:
            first = index in each.starters and min(codes) >= 0
            return first and self._targets.get(number, set()) <= {codes}
        return self._opened.get(number, codes) == codes

    def _level(self, each: Skew, number: int, step: Step) -> int:
        """How many pods the worst order leaves room for; no end of them where nobody counts."""
        index, row = step
        code, counting = int(each.codes[row]), int(each.counting[row])
        grows = index in each.counted and counting >= 0
        bearer = index == each.bearer
        if bearer and code < 0:
            return 0
        domain = number, code if bearer else counting
        own = int(each.itself) - grows if bearer else _NOTHING
        strictest = max(own, self._strictest.get(domain, _NOTHING))
        if not (bearer or grows) or strictest == _NOTHING:
            return -_NOTHING
        pods = int(self._state.skew_counts(number)[domain[1]]) + self._added[domain] + strictest
        room = max(each.most + self._emptiest(each, number) - pods + (not grows), 0)
        return room if grows or not room else -_NOTHING

    def _emptiest(self, each: Skew, number: int) -> int:
        if number not in self._least:
            pods = self._state.skew_counts(number)[each.eligible]
            self._least[number] = int(pods.min()) if each.enough and pods.size else 0
        return self._least[number]

    def _above(self, each: Floor, number: int, row: int, pods: int) -> int:
        if self._problem.durable[row]:
            return pods
        durable, total = self._state.floor_counts(number)
        total += self._spot[number]
        last = len(each.required) - 1
        return next((n for n in range(pods, 0, -1) if durable >= each.required[min(total + n, last)]), 0)

    def _fitting(self, index: int, row: int, pods: int) -> int:
        left, bar = self._tight(index, row)
        requests = self._problem.classes[index].requests
        return next((n for n in range(pods, 0, -1) if np.all(left - n * requests >= bar)), 0)

    def _tight(self, index: int, row: int) -> tuple[Amounts, Amounts]:
        bar = _beyond(self._problem, index)
        if row not in self._left:
            return self._state.free[:, row], bar
        return self._left[row], np.maximum(self._bar[row], bar)

    def _book(self, ties: Iterable[tuple[str, int]], step: Step, pods: int) -> None:
        index, row = step
        for kind, number in ties:
            match kind:
                case "attraction":
                    self._book_attraction(self._problem.attractions[number], number, step)
                case "skew":
                    self._book_skew(self._problem.skews[number], number, step, pods)
                case "floor":
                    self._spot[number] += 0 if self._problem.durable[row] else pods
        if row in self._care.tight:
            left, self._bar[row] = self._tight(index, row)
            self._left[row] = left - pods * self._problem.classes[index].requests

    def _book_attraction(self, each: Attraction, number: int, step: Step) -> None:
        index, row = step
        codes = tuple(int(column[row]) for column in each.codes)
        if index in each.targets:
            self._targets.setdefault(number, set()).add(codes)
        if index in each.followers:
            self._opened[number] = codes

    def _book_skew(self, each: Skew, number: int, step: Step, pods: int) -> None:
        index, row = step
        grows = index in each.counted and each.counting[row] >= 0
        if grows:
            self._added[number, int(each.counting[row])] += pods
        if index == each.bearer:
            domain = number, int(each.codes[row])
            own = int(each.itself) - int(grows)
            self._strictest[domain] = max(own, self._strictest.get(domain, _NOTHING))
