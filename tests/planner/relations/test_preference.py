"""What holds for every kind of preference, against plain Python over random draws."""

import pickle
import random

import numpy as np
import pytest
from ortools.sat.python import cp_model

from tradewind.planner import exact
from tradewind.planner.problem import PodClass, Problem, value
from tradewind.planner.relations.preference import Preference
from tradewind.planner.relations.soft_attraction import SoftAttraction
from tradewind.planner.relations.soft_exclusion import SoftExclusion
from tradewind.planner.state import State

_NODES, _CLASSES = 5, 3
_KINDS = pytest.mark.parametrize("kind", [SoftExclusion, SoftAttraction])
_SEEDS = pytest.mark.parametrize("seed", range(40))
_FEW_SEEDS = pytest.mark.parametrize("seed", range(12))


def _drawn(kind: type[SoftExclusion | SoftAttraction], draw: random.Random) -> Preference:
    codes = np.array([draw.choice([-1, 0, 1, 2]) for _ in range(_NODES)])
    if draw.random() < 0.3:
        codes = np.array([0, 1, 2, 3, -1])
    preference = kind(
        codes=codes,
        existing=np.array([draw.choice([0, 0, 1, 2]) for _ in range(int(codes.max(initial=0)) + 1)]),
        bearer=draw.randrange(_CLASSES),
        counted=frozenset(each for each in range(_CLASSES) if draw.random() < 0.6),
        dollars=draw.choice([0.5, 2.0]),
    )
    if isinstance(preference, SoftExclusion) and draw.random() < 0.5:
        return SoftExclusion(**{**vars(preference), "outside": 7.0})
    return preference


def _expected(preference: Preference, pods: list[tuple[int, int]]) -> float:
    """By looking at every pod and at every pair; `pods` as class and row."""
    total = 0.0
    for number, (index, row) in enumerate(pods):
        code = int(preference.codes[row])
        if index != preference.bearer:
            continue
        others = [
            (at, other)
            for at, (other, there) in enumerate(pods)
            if at != number and other in preference.counted and code == int(preference.codes[there])
        ]
        if isinstance(preference, SoftExclusion):
            if code < 0:
                total += preference.outside
                continue
            # a pair of two bearers is met from both sides
            met = sum(0.5 if other == preference.bearer else 1.0 for _, other in others)
            total += preference.dollars * (met + int(preference.existing[code]))
        elif code < 0 or not (others or preference.existing[code]):
            total += preference.dollars
    return total


@_KINDS
@_SEEDS
def test_totals_and_marginals(kind: type[SoftExclusion | SoftAttraction], seed: int) -> None:
    draw = random.Random(seed)
    preference = pickle.loads(pickle.dumps(_drawn(kind, draw)))  # noqa: S301  our own
    tally, pods = preference.tally(), list[tuple[int, int]]()
    for _ in range(12):
        index, row = draw.randrange(_CLASSES), draw.randrange(_NODES)
        if pods and draw.random() < 0.3:
            index, row = pods.pop(draw.randrange(len(pods)))
            tally.count(index, row, -1)
        else:
            more = [_expected(preference, [*pods, (index, at)]) for at in range(_NODES)]
            marginal = np.subtract(more, _expected(preference, pods))
            if index in preference.members():
                np.testing.assert_allclose(tally.marginal(index), marginal)
            tally.count(index, row, 1)
            pods.append((index, row))
        assert tally.total() == pytest.approx(_expected(preference, pods))
    at_once = preference.tally()
    for index in range(_CLASSES):
        rows = sorted({row for each, row in pods if each == index})
        at_once.count(
            index, np.array(rows, np.intp), np.array([pods.count((index, row)) for row in rows], np.int64)
        )
    assert at_once.total() == pytest.approx(tally.total())
    assert [at_once.sees(row) for row in range(_NODES)] == [tally.sees(row) for row in range(_NODES)]


def _problem(preference: Preference, draw: random.Random) -> Problem:
    classes = tuple(
        PodClass(
            count=draw.randint(1, 3),
            requests=np.array([1]),
            allowed=np.array([draw.random() < 0.8 for _ in range(_NODES)]),
            cost=np.array([draw.choice([0.0, 0.3, 1.0]) for _ in range(_NODES)]),
            priority=0,
            share=np.full(_NODES, 0.1),
        )
        for _ in range(_CLASSES)
    )
    return Problem(
        node_names=tuple("abcde"),
        free=np.array([[draw.randint(0, 3) for _ in range(_NODES)]]),
        price=np.ones(_NODES),
        opening=np.ones(_NODES),
        in_use=np.ones(_NODES, np.bool_),
        durable=np.zeros(_NODES, np.bool_),
        classes=classes,
        preferences=(preference,),
    )


@_KINDS
@_FEW_SEEDS
def test_the_exact_model_charges_the_total(kind: type[SoftExclusion | SoftAttraction], seed: int) -> None:
    """With every pod fixed."""
    draw = random.Random(seed)
    problem = _problem(_drawn(kind, draw), draw)
    state = State(problem)
    for index, each in enumerate(problem.classes):
        for _ in range(each.count):
            rows = np.flatnonzero(state.room(index))
            if rows.size:
                state.add(index, draw.choice(rows.tolist()), 1)
    base = State(problem)
    window = exact._Window(
        base, range(_NODES), {index: each.count for index, each in enumerate(problem.classes)}
    )
    window.build()
    charges = list(base.preferences[0].charges(window))
    for key, variable in window.x.items():
        window.model.add(variable == state.assignment.get(key, 0))
    window.model.minimize(sum(round(10 * each.dollars) * each.amount for each in charges))
    solver = cp_model.CpSolver()
    assert solver.solve(window.model) == cp_model.OPTIMAL
    assert all(0 <= solver.value(each.amount) <= each.most for each in charges)
    assert solver.objective_value / 10 == pytest.approx(state.missed([problem.preferences[0].bearer]))


@_KINDS
@_FEW_SEEDS
def test_the_exact_engine_finds_what_trying_everything_finds(
    kind: type[SoftExclusion | SoftAttraction], seed: int
) -> None:
    draw = random.Random(1000 + seed)
    problem = _problem(_drawn(kind, draw), draw)
    counts = {index: min(each.count, 2) for index, each in enumerate(problem.classes)}
    found = exact.solve(State(problem), range(_NODES), counts, seconds=10)
    assert found is not None
    assert found.optimal
    best = value(problem, found.assignment)
    for _ in range(300):
        state = State(problem)
        for index in draw.sample(range(_CLASSES), _CLASSES):
            for _ in range(counts[index]):
                rows = np.flatnonzero(state.room(index))
                if rows.size:
                    state.add(index, draw.choice(rows.tolist()), 1)
        worth, cost = value(problem, state.assignment)
        assert (worth, cost) <= (best[0], best[1] + 1e-3)
