"""Half of a workload on durable nodes. Only the first node is durable, and has one pod of the workload."""

import numpy as np

from tradewind.planner.relations.floor import Floor

_HALF = Floor(
    nodes=np.array([True, False, False]),
    classes=frozenset({0}),
    durable=1,
    total=1,
    required=(0, 1, 1, 2, 2, 3, 3),
)


def test_a_spot_node_takes_one_pod_while_the_floor_holds_with_it() -> None:
    """1 of 2 is half; 1 of 3 is not."""
    tally = _HALF.tally()
    room = np.full(3, 9)
    tally.admit(0, room)
    assert room.tolist() == [9, 1, 1]
    tally.count(0, 1, 1)
    room = np.full(3, 9)
    tally.admit(0, room)
    assert room.tolist() == [9, 0, 0]


def test_pod_by_pod_a_durable_one_opens_spot_nodes() -> None:
    gate = _HALF.tally().gate(0)
    assert gate is not None
    assert not gate.take(0)
    assert gate.shut(0)
    assert not gate.shut(1)
    assert gate.take(1)  # 2 of 3, so that 2 of 4 will do
    assert not gate.shut(0)


def test_a_wave_takes_all_spot_pods_for_the_first() -> None:
    wave = _HALF.tally().wave()
    assert wave.admit(0, 0, 9) == 9
    wave.book(0, 0, 9)
    assert wave.admit(0, 1, 9) == 1
    wave.book(0, 1, 1)
    assert wave.admit(0, 2, 9) == 0
