"""When the solvers are asked, and what becomes of pods without a place."""

from dataclasses import replace

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import batch_of, copies, filled, policy_of
from tradewind.planner import hints
from tradewind.planner.planner import PlanResult, plan, within_reach
from tradewind.planner.problem import Assignment, Outcome, Problem
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.worker import Result, Worker


class _Asked(Worker):
    """Solvers that find nothing, and remember how long they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[tuple[float, float]] = []

    def solve(self, problem: Problem, floor: Assignment, seconds: float, patience: float = 0.0) -> Result:  # noqa: ARG002
        self.seconds.append((seconds, patience))
        return Result(Outcome(floor, "greedy"), "")


def _plan(pods: list[PodBuilder], worker: Worker | None = None, **options: bool | float) -> PlanResult:
    cache = filled([node("n").cpu("2")], pods)
    return plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 2, **options)  # type: ignore[arg-type]


def _pods(count: int) -> list[PodBuilder]:
    return copies(pod("p").requests(cpu="1"), "p", count)


@pytest.mark.parametrize(
    ("pods", "skip", "asked"),
    [
        pytest.param(2, False, [(2, 0.0)], id="no patience where all have a place"),
        pytest.param(3, False, [(2, 5.0)], id="patience for the one that has none"),
        pytest.param(2, True, [], id="skipped, as greedy is complete"),
        pytest.param(3, True, [(2, 5.0)], id="not skipped, as it is not"),
        pytest.param(0, False, [], id="nothing to plan"),
    ],
)
def test_when_the_solvers_are_asked(pods: int, skip: bool, asked: list[tuple[float, float]]) -> None:
    worker = _Asked()
    _plan(_pods(pods), worker, patience=5.0, skip_solver_if_complete=skip)
    assert worker.seconds == asked


def test_a_batch_beyond_reach_is_left_to_greedy() -> None:
    """10 million pods times nodes for each second."""
    problem = batch_of(filled([node("n")], _pods(1))).problem
    [one] = problem.classes
    huge = replace(problem, classes=(replace(one, count=10_000_001),))
    assert not within_reach(huge, 1.0)
    assert within_reach(huge, 1.1)


def test_pools_are_not_planned_on_for_alternatives() -> None:
    pool = PoolTemplate(name="large", resources={"cpu": 16}, price=3)
    either = copies(pod("e").requests(cpu="1").annotation(hints.XOR, "either"), "e", 2)
    cache = filled([node("n").cpu("1")], [*either, pod("big").requests(cpu="9")])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, pools=[pool])
    assert found.pools == {"default/big": "large"}
    assert found.new_nodes == {"large": 1}
