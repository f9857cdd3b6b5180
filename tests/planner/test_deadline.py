"""Every step of a plan has an end: what is not planned by then is unplaced, and the rest is a valid plan."""

import itertools
import random
from types import SimpleNamespace

import pytest

from tests.builders import PodBuilder, expression, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, policy_of
from tests.planner.check import gangs_kept, violations
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.planner import batch as batches
from tradewind.planner import binding, deadline, planner, pools, ties
from tradewind.planner.gang_room import stand
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.waves import waves

_PAST = 0.0  # of time.monotonic


def _gang(name: str, cpu: str) -> list[PodBuilder]:
    start = pod(name).requests(cpu=cpu).annotation("tradewind.dev/gang", name)
    return [each.label("app", name).affinity(ZONE, {"app": name}) for each in copies(start, name, 3)]


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever somebody looks at it."""
    clock = SimpleNamespace(monotonic=itertools.count().__next__)
    for module in (batches, deadline, planner, pools):
        monkeypatch.setattr(module, "time", clock)


@pytest.mark.usefixtures("ticks")
@pytest.mark.parametrize("seconds", [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_that_ends_anywhere_is_valid_and_tells_of_every_pod(seed: int, seconds: int) -> None:
    draw = random.Random(seed)
    pods = [*mixed_pods(draw, 15, tied=True), *_gang("ring", "1"), *_gang("huge", "900")]
    cache = filled(mixed_nodes(draw.randint(4, 12)), pods)
    grown = PoolTemplate(name="pool", resources={"cpu": "1000"})
    found = plan(
        cache.snapshot(), cache.all_pods(), policy_of, None, 2, pools=[grown], step_seconds=seconds
    ).plan
    assert list(gangs_kept(cache.all_pods(), found)) == []
    assert violations(cache, policy_of, found) == []
    if seconds in {0, 10_000}:
        assert bool(found.placements) == bool(seconds)


def test_no_time_for_waves_leaves_the_pods_that_need_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*args: object) -> object:
        if len(args) > 2:
            raise deadline.OutOfTimeError
        return waves(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(planner, "waves", late)
    cache = filled([node("n").label(ZONE, "a")], [*_gang("ring", "100m"), pod("free")])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 2).plan
    assert [each.pod for each in found.placements] == ["default/free"]
    assert violations(cache, policy_of, found) == []


def test_each_step_is_empty_or_a_part_where_the_time_is_over() -> None:
    problem = batch_of(filled([node("n").label(ZONE, "a")], [*_gang("ring", "100m"), pod("free")])).problem
    whole = greedy(problem)
    assert sum(whole.values()) == 4
    assert greedy(problem, _PAST) == {}
    assert binding.valid_order(problem, whole, deadline=_PAST) == []
    assert len(binding.independent(problem, binding.valid_order(problem, whole))) == 1
    with pytest.raises(deadline.OutOfTimeError):
        waves(problem, binding.valid_order(problem, whole), _PAST)


def _distinct(number: int) -> PodBuilder:
    """Apart from all pods but itself, by a term that no other has."""
    term = {"matchExpressions": [expression("id", "NotIn", f"{number}")]}
    return pod(f"p{number}").label("id", f"{number}").anti_affinity(HOST, labelSelector=term)


def test_terms_that_select_the_same_pods_are_one_relation() -> None:
    """Each of 50 terms selects all 50 pods, whichever label it excludes."""
    pods = [
        pod(f"p{number}")
        .label("id", f"{number}")
        .anti_affinity(
            HOST, labelSelector={"matchExpressions": [expression("id", "NotIn", f"none-{number}")]}
        )
        for number in range(50)
    ]
    [relation] = batch_of(filled([node("n")], pods)).problem.relations
    assert len(relation.members()) == 50


def test_too_many_ties_leave_out_pods_that_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """32 terms of 33 pods each are 1,056 members, 16 are 272, 8 are 72."""
    monkeypatch.setattr(ties, "MAX_MEMBERS", 100)
    free = [pod("free"), pod("urgent").priority(10)]
    gang = [each.anti_affinity(HOST, {"app": "ring"}) for each in _gang("ring", "100m")]
    cache = filled([node(f"n{number}") for number in range(9)], [*map(_distinct, range(32)), *free, *gang])
    found = batch_of(cache)
    assert found.late
    assert sum(len(each.members()) for each in found.problem.relations) <= 100
    kept = {str(each) for group in found.groups for each in group.pods}
    assert {"default/free", "default/urgent"} <= kept
    assert kept.isdisjoint(found.refused)
    assert len(kept) + len(found.refused) == 37
    assert sum(name.startswith("default/ring") for name in kept) in {0, 3}


def test_a_gang_that_cannot_be_planned_at_once_goes_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = filled([node("a"), node("b")], members := [_distinct(1), _distinct(2)])
    monkeypatch.setattr(ties, "MAX_MEMBERS", 1)
    found = stand([each.build() for each in members], cache.snapshot().nodes, policy_of)
    assert found is not None
    assert found.anywhere is not None
    assert found.anywhere.tolist() == [True, True]
