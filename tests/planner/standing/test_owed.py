"""Which pods are still to come, by those that are there."""

import pytest

from tests.builders import PodBuilder, pod
from tradewind.planner.standing.owed import owed

_GANG, _SIZE = "tradewind.dev/gang", "tradewind.dev/gang-min"


def _member(name: str, size: int = 0) -> PodBuilder:
    made = pod(name).annotation(_GANG, "g")
    return made.annotation(_SIZE, str(size)) if size else made


def _replica(number: int) -> PodBuilder:
    return pod(f"db-{number}").owner("StatefulSet", "db", "1")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([pod("a"), pod("b")], {}, id="plain pods owe nothing"),
        pytest.param([_member("a", 5), _member("b")], {"a": 1.5, "b": 1.5}, id="a gang lacks three of five"),
        pytest.param([_member("a", 2), _member("b")], {}, id="a whole gang lacks none"),
        pytest.param([_member("a"), _member("b")], {}, id="nobody says how large it is to be"),
        pytest.param(
            [_member("a", 3), _member("b").phase("Succeeded")], {"a": 1.0}, id="who has finished is not owed"
        ),
        pytest.param([_member("a", 2).phase("Succeeded")], {}, id="nobody is left to be like"),
        pytest.param([_replica(0), _replica(3)], {"db-0": 1.0, "db-3": 1.0}, id="two numbers are free"),
        pytest.param([_replica(5), _replica(6)], {}, id="numbers need not begin at 0"),
        pytest.param([_replica(0), _replica(1), _replica(2).deleting()], {}, id="it shrinks from above"),
        pytest.param(
            [_replica(0), _replica(1).deleting(), _replica(2)], {"db-0": 0.5, "db-2": 0.5}, id="one restarts"
        ),
        pytest.param([pod("db-x").owner("StatefulSet", "db", "1")], {}, id="a name without a number"),
    ],
)
def test_owed(pods: list[PodBuilder], expected: dict[str, float]) -> None:
    found = owed([each.build() for each in pods])
    assert {uid.rpartition("/")[2]: count for uid, count in found.items()} == expected
