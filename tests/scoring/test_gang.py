"""When enough of a gang exists, by what its pods say of its size."""

from datetime import UTC, datetime, timedelta

import pytest

from scoring.filters.gang import Gang
from tests.builders import PodBuilder, node, pod
from tests.scoring.feasible import feasible
from tradewind.cluster import hints

_LONG_AGO = datetime.now(UTC) - timedelta(hours=1)
_FOREIGN = [{"name": "example.com/quota"}]
_OURS = [{"name": "tradewind.dev/planning"}]


def _member(name: str, size: int = 0, created: datetime = _LONG_AGO) -> PodBuilder:
    member = pod(name).annotation("tradewind.dev/gang", "ring")
    member = member.field("metadata", "creationTimestamp", value=created.strftime("%Y-%m-%dT%H:%M:%SZ"))
    return member.annotation(hints.GANG_MIN, str(size)) if size else member


@pytest.mark.parametrize(
    ("others", "complete"),
    [
        pytest.param([], False, id="alone"),
        pytest.param([_member("x", 3)], False, id="two of three"),
        pytest.param([_member("x", 3), _member("y", 3)], True, id="three of three"),
        pytest.param([_member("x"), _member("y", 3)], True, id="one that does not say"),
        pytest.param([_member("x", 4), _member("y", 3)], False, id="the largest counts"),
        pytest.param([_member("x", 3).on("a")], True, id="one is on a node"),
        pytest.param([_member("x", 3).on("a").phase("Succeeded")], True, id="one has finished"),
        pytest.param([_member("x", 3).on("a").phase("Failed")], True, id="one has failed"),
        pytest.param([_member("x", 3).phase("Failed")], False, id="one has failed without a node"),
        pytest.param(
            [_member("x", 3).on("a").phase("Succeeded").owner("Job", "j", "run-1")],
            False,
            id="one of another controller has finished",
        ),
        pytest.param([_member("x", 3).on("a").owner("Job", "j", "run-1")], True, id="one of it runs"),
        pytest.param([_member("x", 3).on("a").deleting()], False, id="one is on its way out"),
        pytest.param([_member("x", 3).on("a").namespace("shop")], False, id="one is in another namespace"),
        pytest.param([_member("x", 3), _member("y", 3).namespace("shop")], False, id="another namespace"),
        pytest.param(
            [_member("x", 3), _member("y", 3).field("spec", "schedulingGates", value=_FOREIGN)],
            False,
            id="one is held by somebody else",
        ),
        pytest.param(
            [_member("x", 3), _member("y", 3).field("spec", "schedulingGates", value=_OURS)],
            True,
            id="one is held by us",
        ),
    ],
)
def test_a_gang_that_says_how_large_it_is(others: list[PodBuilder], complete: bool) -> None:
    assert feasible(Gang(), _member("p", 3), [node("a")], others) == ("a" if complete else "")


@pytest.mark.parametrize(("age", "settled"), [(1, False), (30, True), (-600, True)])
def test_a_gang_of_unknown_size_is_complete_when_no_more_come(age: float, settled: bool) -> None:
    """Also by a clock that is ten minutes behind, which would keep it waiting for as long."""
    newest = _member("x", created=datetime.now(UTC) - timedelta(seconds=age))
    assert feasible(Gang(settle_seconds=10), _member("p"), [node("a")], [newest]) == ("a" if settled else "")


def test_who_is_of_no_gang_does_not_wait() -> None:
    assert feasible(Gang(), pod("p"), [node("a")], [_member("x", 3)]) == "a"


def test_a_pod_without_a_time_is_not_waited_for() -> None:
    """As in a file that was written by hand."""
    assert feasible(Gang(), pod("p").annotation("tradewind.dev/gang", "ring"), [node("a")]) == "a"


def test_the_time_to_settle_is_within_reason() -> None:
    with pytest.raises(ValueError, match="settle_seconds: -1"):
        Gang(settle_seconds=-1)
