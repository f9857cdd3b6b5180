"""At most two pods in a zone: two zones of two nodes, the first with one pod, and a node outside of both."""

import numpy as np

from tradewind.planner.relations.cap import Cap

_CAP = Cap(codes=np.array([0, 0, 1, 1, -1]), existing=np.array([1, 0]), classes=frozenset({0, 1}), max_pods=2)


def test_room_is_what_is_left_of_the_domain() -> None:
    tally = _CAP.tally()
    tally.count(1, 3, 1)
    room = np.full(5, 9)
    tally.admit(0, room)
    assert room.tolist() == [1, 1, 1, 1, 9]


def test_pod_by_pod_a_domain_shuts_for_good() -> None:
    gate = _CAP.tally().gate(0)
    assert gate is not None
    assert not gate.take(0)
    assert [gate.shut(place) for place in (0, 1, -1)] == [True, False, False]


def test_domains_of_one_node_need_no_gate() -> None:
    alone = Cap(codes=np.arange(2), existing=np.zeros(2, np.int64), classes=frozenset({0}), max_pods=1)
    assert alone.tally().gate(0) is None


def test_nodes_of_a_domain_look_the_same() -> None:
    tally = _CAP.tally()
    assert tally.sees(0) == tally.sees(1) != tally.sees(2)
