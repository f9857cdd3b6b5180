"""Where the pods of one class go, one after another."""

import numpy as np
import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import ZONE, batch_of, copies, filled
from tradewind.planner.lanes import put, sequence
from tradewind.planner.state import State


def _zoned(count: int) -> list[NodeBuilder]:
    """Nodes in the zones a and b in turn."""
    return [node(f"n{number}").cpu("2").label(ZONE, "ab"[number % 2]) for number in range(count)]


def _start() -> PodBuilder:
    return pod("p").label("app", "p").requests(cpu="1")


@pytest.mark.parametrize(
    ("start", "costs", "opening", "expected"),
    [
        pytest.param(
            _start(), [3, 1, 2, 4], [0, 0, 0, 0], [1, 1, 2, 2, 0], id="the cheapest until it is full"
        ),
        pytest.param(
            _start(), [1, 1, 1, 1], [0, 9, 5, 1], [0, 0, 3, 3, 2], id="who opens a node pays for it"
        ),
        pytest.param(
            _start().spread(ZONE, {"app": "p"}), [1, 2, 3, 4], [0] * 4, [0, 1, 0, 1, 2], id="zones in turn"
        ),
        pytest.param(
            _start().annotation("tradewind.dev/max-per-zone", "1"),
            [4, 3, 2, 1],
            [0] * 4,
            [3, 2],
            id="full zones",
        ),
        pytest.param(
            _start().anti_affinity(ZONE, {"app": "p"}), [4, 3, 2, 1], [0] * 4, [3, 2], id="once in a zone"
        ),
    ],
)
def test_a_sequence(start: PodBuilder, costs: list[int], opening: list[int], expected: list[int]) -> None:
    state = State(batch_of(filled(_zoned(4), copies(start, "p", 5))).problem)
    room = state.room_alone(0)
    assert sequence(state, 0, room, np.array(costs, float), np.array(opening, float)) == expected


def test_put_counts_rows_that_come_more_than_once() -> None:
    state = State(batch_of(filled(_zoned(2), copies(_start(), "p", 3))).problem)
    put(state, 0, [1, 0, 1])
    assert state.assignment == {(0, 1): 2, (0, 0): 1}
