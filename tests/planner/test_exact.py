"""What CP-SAT is told of pods outside of its window, and of those that start a group.

`tradewind.planner.binding` would leave out what breaks these rules; a plan proved to be the best would then
lack pods.
"""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled
from tradewind.planner.exact import solve
from tradewind.planner.state import State


def _apart_from_b() -> PodBuilder:
    return pod("a").label("app", "a").requests(cpu="1").anti_affinity(ZONE, {"app": "b"})


def _b() -> PodBuilder:
    return pod("b").label("app", "b").requests(cpu="1")


@pytest.mark.parametrize(
    ("placed", "moving"),
    [
        pytest.param(_b(), _apart_from_b(), id="a pod keeps away from what it does not want beside it"),
        pytest.param(_apart_from_b(), _b(), id="and what it does not want keeps away from it"),
    ],
)
def test_pods_outside_of_the_window_are_kept_apart_from_in_the_whole_zone(
    placed: PodBuilder, moving: PodBuilder
) -> None:
    """The node in the same zone costs least and has room."""
    nodes = [
        node("there").label(ZONE, "one").price(1),
        node("near").label(ZONE, "one").price(1),
        node("far").label(ZONE, "two").price(9),
    ]
    batch = batch_of(filled(nodes, [placed, moving]))
    first, second = (next(i for i, g in enumerate(batch.groups) if g.pod.name == n) for n in "ab")
    fixed, free = (first, second) if placed.build().name == "a" else (second, first)
    far = batch.problem.node_names.index("far")
    there = batch.problem.node_names.index("there")
    base = State(batch.problem)
    base.add(fixed, there, 1)
    window = [row for row in range(3) if row != there]
    found = solve(base, window, {free: 1}, seconds=10)
    assert found is not None
    assert found.optimal
    assert found.assignment == {(free, far): 1}


def test_a_class_that_wants_to_be_with_itself_starts_in_one_place_only() -> None:
    """Two nodes have room for two pods each; the pods of a second node would have nobody to follow."""
    start = pod("p").label("app", "p").requests(cpu="1").affinity(HOST, {"app": "p"})
    nodes = [node("m0").cpu("2"), node("m1").cpu("2")]
    batch = batch_of(filled(nodes, copies(start, "p", 4)))
    found = solve(State(batch.problem), [0, 1], {0: 4}, seconds=10)
    assert found is not None
    assert found.optimal
    assert list(found.assignment.values()) == [2]
