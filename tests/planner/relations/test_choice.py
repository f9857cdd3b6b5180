import numpy as np

from tradewind.planner.relations.choice import Choice

_EITHER = Choice(name="default/either", classes=frozenset({0, 1}), max_pods=1)


def test_one_of_the_alternatives_leaves_no_room_for_others() -> None:
    tally = _EITHER.tally()
    assert tally.limit(0, 5) == 1
    assert tally.exhausted() == ""
    tally.count(1, 0, 1)
    room = np.full(2, 9)
    tally.admit(0, room)
    assert room.tolist() == [0, 0]
    assert tally.limit(0, 5) == 0
    assert tally.exhausted() == "another of the alternatives default/either has a place"
