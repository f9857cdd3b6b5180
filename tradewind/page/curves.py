"""Figures over time as lines, drawn by the server; the tables beside them have the same figures."""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT = 1120.0, 240.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 10.0, 18.0, 36.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LINES = 4  # across, at most
_MARKS = 6  # of the clock
_DAY_SECONDS = 86_400


class Series(NamedTuple):
    name: str
    points: Sequence[tuple[float, float]]  # seconds since 1970, and the figure; NaN is a gap


def curves(series: Sequence[Series], label: str, unit: Callable[[float], str]) -> Markup:
    """From zero up; nothing where there are not two moments. `unit` writes a figure."""
    moments = [at for each in series for at, _ in each.points]
    values = [value for each in series for _, value in each.points if not math.isnan(value)]
    if not values or min(moments) == max(moments):
        return Markup("")
    frame = _Frame(min(moments), max(moments), nice_top(max(values)))
    lines = "".join(
        f'<polyline points="{points}" class="line l{number}"><title>{escape(each.name)}</title></polyline>'
        for number, each in enumerate(series)
        for points in frame.runs(each.points)
    )
    keys = "".join(
        f'<li><svg viewBox="0 0 20 16" aria-hidden="true"><path d="M1 8 H19" class="line l{number}"/></svg>'
        f"{escape(each.name)}</li>"
        for number, each in enumerate(series)
    )
    return Markup(  # noqa: S704  names are escaped above
        f'<svg class="curves" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{escape(label)}">'
        f'{"".join(frame.grid(unit))}{"".join(frame.clock())}{lines}</svg><ul class="key">{keys}</ul>'
    )


def nice_top(largest: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is no less."""
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next((step * power for step in _STEPS if step * power >= largest), 10.0 * power)


class _Frame(NamedTuple):
    first: float
    last: float
    top: float

    def runs(self, points: Sequence[tuple[float, float]]) -> Iterator[str]:
        """A line for each stretch without a gap; that of a single point has no length, and is a dot."""
        run: list[str] = []
        for at, value in (*points, (self.last, math.nan)):
            if not math.isnan(value):
                run.append(f"{self._x(at):.1f},{self._y(value):.1f}")
            elif run:
                yield " ".join([*run, run[-1]])
                run = []

    def grid(self, unit: Callable[[float], str]) -> Iterator[str]:
        for number in range(_LINES + 1):
            value = self.top * number / _LINES
            y = self._y(value)
            yield f'<path d="M{_LEFT:.0f} {y:.1f} H{WIDTH - _RIGHT:.0f}" class="grid"/>'
            at = f'x="{_LEFT - 8:.0f}" y="{y + 4:.1f}"'
            place = "value" if number == _LINES else "value between"  # where no line can cross it
            yield f'<text {at} class="tick end {place}">{escape(unit(value))}</text>'

    def clock(self) -> Iterator[str]:
        form = "%d %b" if self.last - self.first > 2 * _DAY_SECONDS else "%H:%M"
        for number in range(_MARKS):
            at = self.first + (self.last - self.first) * number / (_MARKS - 1)
            place = " end" if number == _MARKS - 1 else " middle" if number else ""
            shown = datetime.fromtimestamp(at, UTC).strftime(form)
            yield f'<text x="{self._x(at):.1f}" y="{HEIGHT - 6:.0f}" class="tick{place}">{shown}</text>'

    def _x(self, at: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (at - self.first) / (self.last - self.first)

    def _y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / self.top
