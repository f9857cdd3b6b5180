"""The picture of the dashboard: what a panel shows of what Prometheus answered."""

import json
from typing import Any

import pytest

from bench.dashboard.__main__ import _DASHBOARD, nodes, table
from bench.dashboard.page import Series, Window, formatted, page, size

_WINDOW = Window(start=100.0, end=200.0)


def panel(kind: str = "timeseries", **defaults: Any) -> dict[str, Any]:
    place = {"x": 0, "y": 0, "w": 8, "h": 8}
    return {
        "id": 1,
        "type": kind,
        "title": "Pods <held>",
        "gridPos": place,
        "fieldConfig": {"defaults": defaults},
    }


def drawn(shown: dict[str, Any], *series: Series) -> str:
    return page({"panels": [shown]}, {1: series}, _WINDOW, "how it was made")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.9, "percentunit", "90%"),
        (1234.5, "currencyUSD", "$1,234.50"),
        (0.0012, "s", "1.2 ms"),
        (2.5, "s", "2.5 s"),
        (12, "reqps", "12 req/s"),
        (2, "short", "2"),
        (2, None, "2"),
    ],
)
def test_units(value: float, unit: str | None, text: str) -> None:
    assert formatted(value, unit) == text


def test_panel_without_an_answer_says_so() -> None:
    assert "No data" in drawn(panel())
    assert "No data" in drawn(panel("stat"), Series(name="", points=[]))


def test_a_stat_is_the_last_value_in_the_colour_of_its_threshold() -> None:
    steps = [{"color": "red", "value": None}, {"color": "green", "value": 0.8}]
    shown = panel("stat", unit="percentunit", thresholds={"steps": steps})
    text = drawn(shown, Series(name="", points=[(100, 0.9), (200, 0.5)]))
    assert '#c4162a">50%' in text


def test_stacked_series_stand_on_each_other() -> None:
    """2 and 3 reach 5, so the axis ends at 5.5; the panel is 232 high, the plot from 30 to 194."""
    shown = panel(custom={"stacking": {"mode": "normal"}})
    text = drawn(
        shown,
        Series(name="idle", points=[(100, 2), (200, 2)]),
        Series(name="used", points=[(100, 3), (200, 3)]),
    )
    at = {value: f"{194 - value / 5.5 * 164:.1f}" for value in (0, 2, 5)}
    assert f"56.0,{at[2]} 462.0,{at[2]} 462.0,{at[0]} 56.0,{at[0]}" in text
    assert f"56.0,{at[5]} 462.0,{at[5]} 462.0,{at[2]} 56.0,{at[2]}" in text


def test_titles_and_names_are_text() -> None:
    text = drawn(panel(), Series(name="<b>", points=[(100, 1)]))
    assert "Pods &lt;held&gt;" in text
    assert "&lt;b&gt;" in text
    assert "how it was made" in text


def test_the_whole_dashboard_fits_the_picture() -> None:
    dashboard = json.loads(_DASHBOARD.read_text())
    text = page(dashboard, {}, _WINDOW, "foot")
    assert size(dashboard)[0] == 1440
    assert text.count('class="panel"') + text.count('class="row"') == len(dashboard["panels"])


def test_the_load_has_nodes_of_every_source_of_prices() -> None:
    listed = list(nodes())
    assert len(listed) == 60
    types = [node["metadata"]["labels"]["node.kubernetes.io/instance-type"] for node in listed]
    priced = [node for node in listed if "tradewind.dev/price" in node["metadata"]["annotations"]]
    assert (types.count("unlisted.large"), len(priced)) == (6, 6)
    assert "m5.large,spot,0.0336" in table()
