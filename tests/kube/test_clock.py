from datetime import UTC, datetime

import pytest

from tradewind.kube.clock import ServerClock

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
_DATE = "Thu, 01 Jan 2026 12:00:00 GMT"


class Clocks:
    """Of a machine whose clock is days off."""

    def __init__(self) -> None:
        self.wall = _NOON - 300_000.0
        self.passing = 7.0
        self.server = ServerClock(lambda: self.wall, lambda: self.passing)


def test_it_is_our_own_until_an_answer_came_and_then_the_servers() -> None:
    clocks = Clocks()
    assert clocks.server.now() == clocks.wall
    clocks.server.note(_DATE)
    assert clocks.server.now() == _NOON
    clocks.passing += 30
    clocks.wall += 86_400  # set while we run
    assert clocks.server.now() == _NOON + 30


@pytest.mark.parametrize("date", [None, "", "noon", "2026-01-01T12:00:00Z", "Thu, 99 Jan 2026 12:00:00 GMT"])
def test_an_answer_without_a_date_says_nothing(date: str | None) -> None:
    clocks = Clocks()
    clocks.server.note(date)
    assert clocks.server.now() == clocks.wall


@pytest.mark.parametrize(
    ("passed", "now"),
    [
        pytest.param(0.0, 0.0, id="the same second"),
        pytest.param(1.9, 1.9, id="within what a Date tells"),
        pytest.param(2.1, 0.0, id="we were fast, or it was set back"),
        pytest.param(-0.1, 0.0, id="it is later there than we knew"),
    ],
)
def test_an_answer_corrects_it_only_where_it_contradicts(passed: float, now: float) -> None:
    clocks = Clocks()
    clocks.server.note(_DATE)
    clocks.passing += passed
    clocks.server.note(_DATE)
    assert clocks.server.now() == pytest.approx(_NOON + now)
