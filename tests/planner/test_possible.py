"""Which pods are set aside before a solve."""

import random
from typing import Any

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.brute_force import draw_cluster
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, policy_of
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.possible import without_impossible
from tradewind.planner.problem import Outcome, Problem, placed_counts
from tradewind.planner.worker import Result, Worker

_START = pod("p").label("app", "x").requests(cpu="1")


def _gang(name: str, cpu: str) -> PodBuilder:
    return pod(name).requests(cpu=cpu).annotation("tradewind.dev/gang", "ring")


@pytest.mark.parametrize(
    ("pods", "left"),
    [
        pytest.param([_START], ["p"], id="possible"),
        pytest.param([_START.requests(cpu="9")], [], id="larger than any node"),
        pytest.param([_START.node_selector("no", "where")], [], id="no node has the label"),
        pytest.param(copies(_START, "p", 9), ["p"] * 8, id="two nodes of 4 cores"),
        pytest.param(copies(_START.anti_affinity(HOST, {"app": "x"}), "p", 3), ["p"] * 2, id="one a node"),
        pytest.param(copies(_START.anti_affinity(ZONE, {"app": "x"}), "p", 3), ["p"], id="one in the zone"),
        pytest.param(copies(_START.spread(HOST, {"app": "x"}), "p", 3), ["p"] * 3, id="even"),
        pytest.param([_gang("a", "1"), _gang("b", "9")], [], id="the gang of an impossible pod"),
        pytest.param(
            [
                pod("anchor").label("app", "y").requests(cpu="9"),
                pod("follower").affinity(HOST, {"app": "y"}),
                pod("plain"),
            ],
            ["plain"],
            id="who wants to be with an impossible pod",
        ),
        pytest.param(
            [pod("anchor").label("app", "y"), pod("follower").affinity(HOST, {"app": "y"})],
            ["anchor", "follower"],
            id="who wants to be with a possible one",
        ),
    ],
)
def test_what_is_left(pods: list[PodBuilder], left: list[str]) -> None:
    nodes = [node(name).cpu("4").label(ZONE, "z") for name in ("a", "b")]
    batch = batch_of(filled(nodes, pods))
    counts = [each.count for each in without_impossible(batch.problem, {}).classes]
    names = [group.pod.name.partition("-")[0] for group in batch.groups]
    assert [name for name, count in zip(names, counts, strict=True) for _ in range(count)] == left


@pytest.mark.parametrize("seed", range(60))
def test_nothing_that_the_solvers_place_is_set_aside(seed: int) -> None:
    problem = batch_of(filled(*draw_cluster(random.Random(seed)))).problem
    found = [Outcome(greedy(problem), "greedy")]
    optimise(problem, found[0].assignment, 5, found.append)
    counts = [each.count for each in without_impossible(problem, {}).classes]
    assert all(
        placed <= count
        for placed, count in zip(placed_counts(problem, found[-1].assignment), counts, strict=True)
    )


class _Asked(Worker):
    def __init__(self) -> None:
        super().__init__()
        self.problems: list[Problem] = []

    def solve(self, *args: Any, **_: Any) -> Result:
        self.problems.append(args[0])
        return Result(Outcome(args[1], "greedy"), "")


def test_an_impossible_pod_does_not_keep_the_others_from_being_complete() -> None:
    """Complete is 5 and 5 on the node of ten cores and 6 on the other, which the worker is asked for."""
    nodes = [node("a").cpu("10"), node("b").cpu("6")]
    pods = [*copies(pod("p").requests(cpu="5"), "p", 2), pod("six").requests(cpu="6")]
    cache = filled(nodes, [*pods, pod("huge").requests(cpu="64")])
    worker = _Asked()
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 5)
    [problem] = worker.problems
    assert problem.pods == 3
    assert "default/huge" in found.plan.unplaced
    assert "cpu" in found.plan.unplaced["default/huge"]
