"""The dashboard as an HTML page: its panels at their places, drawn from what Prometheus answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_COLUMN, _UNIT, _GAP = 60, 30, 8  # pixels
_COLUMNS = 24
_FOOT = 34
_COLOURS = ("#3871dc", "#e0752d", "#56a64b", "#a352cc", "#c4162a", "#8f7a00", "#0a7f93", "#705da0")
_MARGIN_LEFT, _MARGIN_TOP, _AXIS, _LEGEND = 56, 30, 18, 20

_STYLE = """
body { margin: 0; background: #f4f5f5; font: 12px sans-serif; color: #24292e; }
.panel, .row { position: absolute; box-sizing: border-box; }
.panel { background: #fff; border: 1px solid #e3e4e5; border-radius: 2px; overflow: hidden; }
.row { font-weight: bold; font-size: 14px; padding: 6px 8px; }
.title { position: absolute; left: 10px; top: 7px; font-weight: bold; }
.value { position: absolute; inset: 26px 0 0 0; display: flex; align-items: center; justify-content: center;
         font-size: 34px; }
.none { color: #7b8087; font-size: 14px; }
.foot { position: absolute; left: 10px; color: #52575c; }
"""


@dataclass(frozen=True, kw_only=True)
class Series:
    name: str
    points: Sequence[tuple[float, float]]  # seconds, value


@dataclass(frozen=True, kw_only=True)
class Window:
    start: float
    end: float


def page(
    dashboard: Mapping[str, Any], found: Mapping[int, Sequence[Series]], window: Window, foot: str
) -> str:
    """`found` has the series of each panel by its id."""
    panels = dashboard["panels"]
    parts = [_panel(each, found.get(each["id"], ()), window) for each in panels]
    parts.append(f'<div class="foot" style="top:{size(dashboard)[1] - _FOOT + 8}px">{escape(foot)}</div>')
    return f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style><body>{''.join(parts)}</body>"


def size(dashboard: Mapping[str, Any]) -> tuple[int, int]:
    height = max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in dashboard["panels"]) * _UNIT
    return _COLUMNS * _COLUMN, height + _FOOT


def _panel(panel: Mapping[str, Any], series: Sequence[Series], window: Window) -> str:
    place = panel["gridPos"]
    wide, high = place["w"] * _COLUMN - _GAP, place["h"] * _UNIT - _GAP
    style = f"left:{place['x'] * _COLUMN}px;top:{place['y'] * _UNIT}px;width:{wide}px;height:{high}px"
    title = escape(panel["title"])
    if panel["type"] == "row":
        return f'<div class="row" style="{style}">{title}</div>'
    shown = [each for each in series if each.points]
    if not shown:
        body = '<div class="value none">No data</div>'
    elif panel["type"] == "stat":
        body = _stat(panel, shown)
    else:
        body = _Plot(panel, shown, window, wide, high).svg()
    return f'<div class="panel" style="{style}"><span class="title">{title}</span>{body}</div>'


def _defaults(panel: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = panel.get("fieldConfig", {}).get("defaults", {})
    return found


def _stat(panel: Mapping[str, Any], series: Sequence[Series]) -> str:
    value, defaults = series[0].points[-1][1], _defaults(panel)
    steps = defaults.get("thresholds", {}).get("steps", ())
    reached = [step["color"] for step in steps if step["value"] is None or value >= step["value"]]
    named = f" <small>&nbsp;{escape(series[0].name)}</small>" if series[0].name else ""
    colour = {"red": _COLOURS[4], "green": _COLOURS[2]}.get(reached[-1] if reached else "green")
    return f'<div class="value" style="color:{colour}">{formatted(value, defaults.get("unit"))}{named}</div>'


def formatted(value: float, unit: str | None) -> str:
    """The units that the dashboard uses, as Grafana calls them."""
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "currencyUSD":
        return f"${value:,.2f}"
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:,.3g}{ {'s': ' s', 'reqps': ' req/s'}.get(unit or '', '') }"


class _Plot:
    def __init__(
        self, panel: Mapping[str, Any], series: Sequence[Series], window: Window, wide: int, high: int
    ) -> None:
        defaults = _defaults(panel)
        self._unit = defaults.get("unit")
        stacking = defaults.get("custom", {}).get("stacking", {}).get("mode")
        self._layers = _stacked(series) if stacking == "normal" else [(each, None) for each in series]
        self._shown = [any(value for _, value in each.points) for each in series]
        self._window = window
        self._wide, self._high = wide, high
        self._bottom = high - _LEGEND - _AXIS
        top = max(value for each, _ in self._layers for _, value in each.points)
        self._top = top * 1.1 or 1.0

    def svg(self) -> str:
        lines = [self._line(each, floor, colour(i)) for i, (each, floor) in enumerate(self._layers)]
        parts = [*self._grid(), *reversed(lines), self._legend()]
        return f'<svg width="{self._wide}" height="{self._high}" font-size="11">{"".join(parts)}</svg>'

    def _x(self, seconds: float) -> float:
        share = (seconds - self._window.start) / (self._window.end - self._window.start)
        return _MARGIN_LEFT + share * (self._wide - _MARGIN_LEFT - 10)

    def _y(self, value: float) -> float:
        return self._bottom - value / self._top * (self._bottom - _MARGIN_TOP)

    def _grid(self) -> list[str]:
        found = []
        for quarter in range(5):
            value = self._top * quarter / 4
            y, text = self._y(value), formatted(value, self._unit)
            found.append(f'<path d="M{_MARGIN_LEFT} {y:.1f}H{self._wide - 10}" stroke="#e9eaeb"/>')
            found.append(f'<text x="{_MARGIN_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        for quarter in range(5):
            seconds = self._window.start + (self._window.end - self._window.start) * quarter / 4
            text = f"{seconds - self._window.end:.0f} s" if quarter < 4 else "now"
            place = f'x="{self._x(seconds):.1f}" y="{self._bottom + 14}"'
            found.append(f'<text {place} text-anchor="{"end" if quarter == 4 else "middle"}">{text}</text>')
        return found

    def _line(self, series: Series, floor: Series | None, stroke: str) -> str:
        points = " ".join(f"{self._x(at):.1f},{self._y(value):.1f}" for at, value in series.points)
        filled = ""
        if floor:
            back = " ".join(f"{self._x(at):.1f},{self._y(value):.1f}" for at, value in reversed(floor.points))
            filled = f'<polygon points="{points} {back}" fill="{stroke}" fill-opacity="0.3"/>'
        return f'{filled}<polyline points="{points}" fill="none" stroke="{stroke}" stroke-width="1.5"/>'

    def _legend(self) -> str:
        """Of those that are not zero throughout, if any, as far as they fit in."""
        numbered = list(enumerate(series for series, _ in self._layers))
        parts, x = [], 12.0
        for i, series in [(i, each) for i, each in numbered if self._shown[i]] or numbered:
            wide = 32 + 6.2 * len(series.name)
            if x + wide > self._wide - 14:
                parts.append(f'<text x="{x:.0f}" y="{self._high - 7}">…</text>')
                break
            parts.append(f'<path d="M{x:.0f} {self._high - 11}h14" stroke="{colour(i)}" stroke-width="3"/>')
            parts.append(f'<text x="{x + 18:.0f}" y="{self._high - 7}">{escape(series.name)}</text>')
            x += wide
        return "".join(parts)


def colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _stacked(series: Sequence[Series]) -> list[tuple[Series, Series]]:
    """Each on top of those before it, with what it stands on; a series that is absent counts as zero."""
    times = sorted({at for each in series for at, _ in each.points})
    floor = Series(name="", points=[(at, 0.0) for at in times])
    found = []
    for each in series:
        values = dict(each.points)
        top = [(at, below + values.get(at, 0.0)) for at, below in floor.points]
        found.append((Series(name=each.name, points=top), floor))
        floor = found[-1][0]
    return found
