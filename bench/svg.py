"""Charts as SVG, with no more than these two need: grouped bars, and curves over a logarithmic axis."""

import math
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

from bench.goals import Spread

WIDTH, HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 64, 56
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2")
_INK, _GRID = "#333", "#ddd"
_FONT = "font-family='sans-serif' font-size='12'"


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, Spread]]) -> str:
    """A bar for each median, by group and series, and a whisker from the lowest to the highest value."""
    series = list(dict.fromkeys(name for group in groups.values() for name in group))
    top = _above(max(spread.high for group in groups.values() for spread in group.values()))
    step = (WIDTH - _LEFT - _RIGHT) / len(groups)
    wide = step * 0.8 / len(series)
    parts = [*_frame(title, unit, series), *_ticks([(top * tenth / 5, tenth / 5) for tenth in range(6)])]
    for place, (label, group) in enumerate(groups.items()):
        start = _LEFT + step * (place + 0.1)
        parts.append(_text(start + step * 0.4, HEIGHT - _BOTTOM + 20, label, "middle"))
        for name, spread in group.items():
            x = start + wide * series.index(name)
            low, middle, high = (_y(value / top) for value in (spread.low, spread.median, spread.high))
            colour = _COLOURS[series.index(name) % len(_COLOURS)]
            height = HEIGHT - _BOTTOM - middle
            parts.append(
                f"<rect x='{x:.1f}' y='{middle:.1f}' width='{wide * 0.9:.1f}' height='{height:.1f}' "
                f"fill='{colour}'/>"
            )
            parts.append(_line(x + wide * 0.45, low, x + wide * 0.45, high, _INK))
    return _document(parts)


def curves(title: str, unit: str, series: Mapping[str, Sequence[float]]) -> str:
    """For each series the share of its values (0 to 100 % in equal steps) that are not above x."""
    values = [value for row in series.values() for value in row]
    low, high = math.floor(math.log10(min(values)) * 3) / 3, math.ceil(math.log10(max(values)) * 3) / 3
    parts = [
        *_frame(title, "share of requests, %", series),
        *_ticks([(tenth * 20, tenth / 5) for tenth in range(6)]),
    ]
    wide = (WIDTH - _LEFT - _RIGHT) / (high - low)
    for third in range(round((high - low) * 3) + 1):
        x = _LEFT + wide * third / 3
        parts.append(_line(x, _TOP, x, HEIGHT - _BOTTOM, _GRID))
        parts.append(_text(x, HEIGHT - _BOTTOM + 20, f"{10 ** (low + third / 3):.2g}", "middle"))
    parts.append(_text(WIDTH / 2, HEIGHT - 12, unit, "middle"))
    for number, row in enumerate(series.values()):
        points = " ".join(
            f"{_LEFT + wide * (math.log10(value) - low):.1f},{_y(place / (len(row) - 1)):.1f}"
            for place, value in enumerate(row)
        )
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f"<polyline points='{points}' fill='none' stroke='{colour}' stroke-width='2'/>")
    return _document(parts)


def _frame(title: str, unit: str, series: Sequence[str] | Mapping[str, object]) -> Iterator[str]:
    yield f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>"
    yield f"<text x='{_LEFT}' y='20' font-weight='bold'>{escape(title)}</text>"
    yield _text(_LEFT, _TOP - 8, unit)
    x = float(_LEFT)
    for number, name in enumerate(series):
        yield f"<rect x='{x:.1f}' y='30' width='10' height='10' fill='{_COLOURS[number % len(_COLOURS)]}'/>"
        yield _text(x + 14, 40, name)
        x += 30 + 7 * len(name)


def _ticks(ticks: Sequence[tuple[float, float]]) -> Iterator[str]:
    for value, share in ticks:
        yield _line(_LEFT, _y(share), WIDTH - _RIGHT, _y(share), _GRID)
        yield _text(_LEFT - 6, _y(share) + 4, f"{value:g}", "end")


def _above(value: float) -> float:
    """A round number above it, that five steps divide evenly."""
    unit = 10 ** math.floor(math.log10(value))
    return float(next(unit * factor for factor in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if unit * factor >= value))


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * share


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _document(parts: Sequence[str]) -> str:
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {_FONT} fill='{_INK}'>"
    return "\n".join([head, *parts, "</svg>", ""])
