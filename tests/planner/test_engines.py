"""Every engine on clusters too large for brute force: always valid, near the bound where nothing ties."""

import random
import time
from collections.abc import Callable

import pytest

from planner import covering, flow, windows
from planner.bound import lower_bound
from planner.check import gangs_kept, violations
from planner.greedy import greedy
from planner.plan import make_plan, valid_order
from planner.problem import Assignment, Problem, money
from planner.reasons import reasons
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, policy_of

_SHAPES = [("4", "8Gi", 1.0), ("8", "64Gi", 2.5), ("16", "32Gi", 3.0), ("2", "16Gi", 0.7)]


def _flow(problem: Problem) -> Assignment:
    return flow.place(problem, time.monotonic() + 5)


def _cover(problem: Problem) -> Assignment:
    return covering.cover(problem, greedy(problem), time.monotonic() + 3)


def _windows(problem: Problem) -> Assignment:
    return windows.improve(problem, greedy(problem), time.monotonic() + 2, lambda _: None)


ENGINES = [
    pytest.param(greedy, id="greedy"),
    pytest.param(_flow, id="flow"),
    pytest.param(_cover, id="covering"),
    pytest.param(_windows, id="windows"),
]


def _nodes(count: int) -> list[NodeBuilder]:
    nodes = []
    for number in range(count):
        cpu, memory, price = _SHAPES[number % len(_SHAPES)]
        each = node(f"n{number:03}").cpu(cpu).memory(memory).price(price).label(ZONE, f"z{number % 3}")
        nodes.append(each.label("karpenter.sh/capacity-type", "spot") if number % 5 == 0 else each)
    return nodes


def _pods(draw: random.Random, classes: int, *, tied: bool) -> list[PodBuilder]:
    pods: list[PodBuilder] = []
    for number in range(classes):
        app = f"app{number}"
        cpu, memory = draw.choice([100, 250, 500, 900, 1500]), draw.choice([128, 512, 1500, 3000])
        start = pod(app).label("app", app).owner("ReplicaSet", app, app)
        start = start.requests(cpu=f"{cpu}m", memory=f"{memory}Mi")
        if tied:
            start = _tied(draw, start, app)
        pods += copies(start, app, draw.randint(2, 9))
    return pods


def _tied(draw: random.Random, start: PodBuilder, app: str) -> PodBuilder:  # noqa: PLR0911  a table
    other = f"app{draw.randrange(12)}"
    match draw.randrange(8):
        case 0:
            return start.anti_affinity(HOST, {"app": app})
        case 1:
            return start.anti_affinity(ZONE, {"app": other})
        case 2:
            return start.spread(ZONE, {"app": app})
        case 3:
            return start.affinity(ZONE, {"app": other})
        case 4:
            return start.annotation("tradewind.dev/gang", app).limits(memory="4Gi")
        case 5:
            return start.annotation("tradewind.dev/durable-share", "0.5")
        case _:
            return start


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_no_rule_is_broken(engine: Callable[[Problem], Assignment], seed: int) -> None:
    draw = random.Random(seed)
    nodes, pods = _nodes(12), _pods(draw, 25, tied=True)
    cache = filled(nodes, pods)
    batch = batch_of(cache)
    assignment = engine(batch.problem)
    order = valid_order(batch.problem, assignment)
    assert len(order) == sum(assignment.values())
    plan = make_plan(batch, order, reasons(batch, assignment), "any")
    assert list(gangs_kept(cache.all_pods(), plan)) == []
    assert violations(cache, policy_of, plan) == []


@pytest.mark.parametrize("seed", range(2))
def test_packing_without_ties_comes_near_the_bound(seed: int) -> None:
    batch = batch_of(filled(_nodes(60), _pods(random.Random(seed), 40, tied=False)))
    found = _cover(batch.problem)
    assert sum(found.values()) == batch.problem.pods
    assert money(batch.problem, found) <= 1.05 * lower_bound(batch.problem, found, 20)


def test_a_node_with_agents_only_is_not_in_use() -> None:
    agent = pod("agent").owner("DaemonSet", "agent", "d").on("a")
    batch = batch_of(filled([node("a"), node("b")], [agent, pod("web").on("b")]))
    assert batch.problem.in_use.tolist() == [False, True]
