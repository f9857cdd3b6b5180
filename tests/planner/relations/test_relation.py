"""What holds for every kind of relation."""

import pickle

import numpy as np
import pytest

from scoring.topology import SpreadDomains
from tradewind.planner.relations.attraction import Attraction
from tradewind.planner.relations.cap import Cap
from tradewind.planner.relations.choice import Choice
from tradewind.planner.relations.exclusion import Exclusion
from tradewind.planner.relations.floor import Floor
from tradewind.planner.relations.relation import Relation, Tally, distinct
from tradewind.planner.relations.skew import Skew

_CODES = np.array([0, 0, 1, -1])
_NOBODY = np.zeros(2, np.int64)
_BOTH = frozenset({0, 1})

_RELATIONS: list[Relation] = [
    Exclusion(codes=_CODES, left=frozenset({0}), right=frozenset({1})),
    Attraction(
        codes=(_CODES,), existing=(_NOBODY,), followers=_BOTH, targets=frozenset({1}), starters=frozenset({1})
    ),
    Skew(
        bearer=0,
        domains=SpreadDomains(
            codes=_CODES,
            counting=_CODES,
            existing=_NOBODY,
            eligible=np.ones(2, np.bool_),
            enough=True,
            itself=True,
            max_skew=2,
        ),
        counted=_BOTH,
    ),
    Cap(codes=_CODES, existing=_NOBODY, classes=_BOTH, max_pods=3),
    Floor(nodes=_CODES == 0, classes=_BOTH, durable=0, total=0, required=(0, 1, 1, 2, 2, 3, 3, 4)),
    Choice(name="either", classes=_BOTH, max_pods=4),
]


def _rooms(tally: Tally) -> list[list[int]]:
    found = []
    for index in (0, 1):
        for admit in (tally.admit, tally.admit_across):
            room = np.full(4, 9)
            admit(index, room)
            found.append(room.tolist())
    return found


@pytest.mark.parametrize("relation", _RELATIONS, ids=lambda each: type(each).__name__)
def test_counting(relation: Relation) -> None:
    at_once, one_by_one, fresh = relation.tally(), relation.tally(), relation.tally()
    at_once.count(1, np.array([0, 2, 3]), np.array([2, 1, 1]))
    for row in (0, 0, 2, 3):
        one_by_one.count(1, row, 1)
    assert _rooms(at_once) == _rooms(one_by_one)
    assert [at_once.sees(row) for row in range(4)] == [one_by_one.sees(row) for row in range(4)]
    at_once.count(1, np.array([0, 2, 3]), np.array([-2, -1, -1]))
    assert _rooms(at_once) == _rooms(fresh)


@pytest.mark.parametrize("relation", _RELATIONS, ids=lambda each: type(each).__name__)
def test_it_can_be_sent_to_the_solvers(relation: Relation) -> None:
    sent = pickle.loads(pickle.dumps(relation))  # noqa: S301  our own
    assert sent.members() == relation.members()
    assert _rooms(sent.tally()) == _rooms(relation.tally())


def test_distinct() -> None:
    assert distinct(np.array([1, 0, -1, 2]))
    assert not distinct(_CODES)
    assert distinct(np.array([], np.intp))
