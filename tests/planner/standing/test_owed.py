"""Which pods are still to come, by those that are there."""

import pytest

from tests.builders import PodBuilder, pod
from tradewind.planner.standing.owed import owed


def _replica(number: int) -> PodBuilder:
    return pod(f"db-{number}").owner("StatefulSet", "db", "1")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pod("a"), pod("b")], {}, id="plain pods owe nothing"),
        pytest.param([_replica(0), _replica(3)], {"db-0": 1.0, "db-3": 1.0}, id="two numbers are free"),
        pytest.param([_replica(5), _replica(6)], {}, id="numbers need not begin at 0"),
        pytest.param([_replica(0), _replica(1), _replica(2).deleting()], {}, id="it shrinks from above"),
        pytest.param(
            [_replica(0), _replica(1).deleting(), _replica(2)], {"db-0": 0.5, "db-2": 0.5}, id="one restarts"
        ),
        pytest.param(
            [_replica(0), _replica(2**31)],
            {"db-0": 4.0, "db-2147483648": 4.0},
            id="not all at once",
        ),
        pytest.param([pod("db-x").owner("StatefulSet", "db", "1")], {}, id="a name without a number"),
    ],
)
def test_owed(pods: list[PodBuilder], expected: dict[str, float]) -> None:
    found = owed([each.build() for each in pods], {})
    assert {uid.rpartition("/")[2]: count for uid, count in found.items()} == expected


def _controlled(name: str, owner: str = "web") -> PodBuilder:
    return pod(name).owner("ReplicaSet", owner, f"uid-{owner}")


@pytest.mark.parametrize(
    ("pods", "wanted", "expected"),
    [
        pytest.param(
            [_controlled("a"), _controlled("b")], 5, {"a": 1.5, "b": 1.5}, id="two of five are there"
        ),
        pytest.param(
            [_controlled("a"), _controlled("b")],
            2**31 - 1,
            {"a": 4.0, "b": 4.0},
            id="not all at once",
        ),
        pytest.param([_controlled("a"), _controlled("b")], 2, {}, id="all are there"),
        pytest.param([_controlled("a"), _controlled("b")], 1, {}, id="it shrinks"),
        pytest.param([_controlled("a"), _controlled("b").deleting()], 2, {"a": 1.0}, id="one ends"),
        pytest.param([_controlled("a"), _controlled("b").phase("Failed")], 3, {"a": 2.0}, id="one has ended"),
        pytest.param([_controlled("a"), _controlled("b", "other")], 3, {"a": 2.0}, id="each has its own"),
        pytest.param(
            [_controlled("a"), _controlled("b").namespace("evil")],
            3,
            {"a": 2.0},
            id="another namespace's is not",
        ),
        pytest.param([_controlled("a").phase("Succeeded")], 2, {}, id="nobody is left to be like"),
        pytest.param(
            [_controlled("a").annotation("tradewind.dev/gang", "g")], 2, {"a": 1.0}, id="one of a gang"
        ),
    ],
)
def test_owed_by_what_the_controller_wants(
    pods: list[PodBuilder], wanted: int, expected: dict[str, float]
) -> None:
    found = owed([each.build() for each in pods], {"default/uid-web": wanted, "default/uid-gone": 9})
    assert {uid.rpartition("/")[2]: count for uid, count in found.items()} == expected
