"""Which goals are met, and the table that says so."""

import pytest

from bench import goals
from bench.goals import Goal, Outcome

FAST = Goal(what="pods/s", limit=0.85, at_least=True)
SMALL = Goal(what="memory", limit=0.25, at_least=False)


@pytest.mark.parametrize(
    ("goal", "ratios", "met"),
    [
        pytest.param(FAST, [0.85], True, id="just enough"),
        pytest.param(FAST, [0.1, 0.9, 0.9], True, id="the median counts, not the worst run"),
        pytest.param(FAST, [0.8, 0.8, 2.0], False, id="nor the best"),
        pytest.param(SMALL, [0.25], True, id="just small enough"),
        pytest.param(SMALL, [0.26], False, id="too large"),
    ],
)
def test_a_goal_is_met_by_the_median(goal: Goal, ratios: list[float], met: bool) -> None:
    assert Outcome(goal=goal, ratios=ratios, figures="").met is met


def test_the_table_says_what_is_missed() -> None:
    outcomes = [
        Outcome(goal=FAST, ratios=[0.8, 0.9, 1.0], figures="90 / 100 pods/s"),
        Outcome(goal=SMALL, ratios=[0.5], figures="2 / 4 MiB"),
    ]
    lines = goals.table(outcomes).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]] == [
        ["pods/s", ">= 0.85", "0.9", "0.8..1", "3", "met", "90 / 100 pods/s"],
        ["memory", "<= 0.25", "0.5", "0.5..0.5", "1", "missed", "2 / 4 MiB"],
    ]
    assert goals.conclusion(outcomes) == "1 of 2 goals are met."


@pytest.mark.parametrize(
    ("value", "shown"), [(0.01234, "0.0123"), (12.345, "12.3"), (99.99, "100"), (2923.4, "2,923")]
)
def test_figures_have_three_digits_or_no_fraction(value: float, shown: str) -> None:
    assert goals.short(value) == shown
