"""What is aimed at, what was measured, and the table that says which goals are met.

Every goal is a ratio of two figures of one run, so that a slower machine, or one that is busy, hits both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_HEADINGS = ("what", "goal", "measured", "spread", "runs", "", "figures")


@dataclass(frozen=True, kw_only=True)
class Spread:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        return cls(median=median(values), low=min(values), high=max(values))


@dataclass(frozen=True, kw_only=True)
class Goal:
    what: str
    limit: float
    at_least: bool  # or else at most

    def met_by(self, ratio: float) -> bool:
        return ratio >= self.limit if self.at_least else ratio <= self.limit

    @property
    def shown(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.limit:.3g}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The ratio of each run; the median of them is what counts."""

    goal: Goal
    ratios: Sequence[float]
    figures: str  # the two medians behind the ratio, with their unit

    @property
    def met(self) -> bool:
        return self.goal.met_by(median(self.ratios))

    def cells(self) -> tuple[str, ...]:
        spread = Spread.of(self.ratios)
        return (
            self.goal.what,
            self.goal.shown,
            f"{spread.median:.3g}",
            f"{spread.low:.3g}..{spread.high:.3g}",
            str(len(self.ratios)),
            "met" if self.met else "missed",
            self.figures,
        )


def short(value: float) -> str:
    """Three digits of it, or all of those before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(outcomes: Sequence[Outcome]) -> str:
    return markdown([_HEADINGS, *(outcome.cells() for outcome in outcomes)], words={0, 5, 6})


def conclusion(outcomes: Sequence[Outcome]) -> str:
    return f"{sum(outcome.met for outcome in outcomes)} of {len(outcomes)} goals are met."


def markdown(rows: Sequence[Sequence[str]], words: set[int]) -> str:
    """A table that is aligned as text too; the columns in `words` go left, the figures right."""
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(rows[0]))]
    rule = [
        "-" * width if column in words else "-" * (width - 1) + ":" for column, width in enumerate(widths)
    ]
    lines = [rows[0], rule, *rows[1:]]
    return "\n".join(
        "| "
        + " | ".join(
            cell.ljust(width) if column in words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in lines
    )
