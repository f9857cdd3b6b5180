"""docs/configuration.md names every rule and parameter that there is, and none that there is not."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from scoring.registry import FILTERS, SCORERS
from tradewind.config import document as config

_PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
_FILTERS = {rule.name: rule for rule in FILTERS}
_SCORERS = {entry.scorer.name: entry for entry in SCORERS}


def table(heading: str) -> Iterator[dict[str, str]]:
    """The rows below the line that begins with `| heading |`, by column."""
    lines = iter(_PAGE[_PAGE.index(f"| {heading} |") :].splitlines())
    columns = cells(next(lines))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield dict(zip(columns, cells(line), strict=True))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


_FILTER_ROWS = {quoted(row["name"])[0]: row for row in table("name")}
_SCORER_ROWS = {quoted(row["name"])[0]: row for row in table("letter")}


def test_every_filter_has_a_row() -> None:
    assert list(_FILTER_ROWS) == list(_FILTERS)


def test_every_scorer_has_a_row_with_its_letter_and_default_weight() -> None:
    rows = [(name, row["letter"], float(row["default weight"])) for name, row in _SCORER_ROWS.items()]
    assert rows == [(name, entry.letter, entry.weight) for name, entry in _SCORERS.items()]


@pytest.mark.parametrize("name", [*_FILTERS, *(name for name in _SCORERS if name not in _FILTERS)])
def test_every_parameter_is_named(name: str) -> None:
    rule = _FILTERS[name] if name in _FILTERS else _SCORERS[name].scorer
    parameters = {field.name for field in fields(rule)}  # type: ignore[arg-type]  # every rule is a dataclass
    told = (_FILTER_ROWS.get(name) or _SCORER_ROWS[name])["parameters"]
    if told == "the same":  # as the row above
        told = _FILTER_ROWS["disk_type"]["parameters"]
    named = {word.partition(":")[0] for word in quoted(told)}
    assert parameters <= named
    for word in named - parameters:  # values of a parameter, such as `required`
        assert f"`{word}`" in told.partition(":")[2], f"{name} has no parameter {word}"


@pytest.mark.parametrize("row", list(table("preset")), ids=lambda row: str(row["preset"]))
def test_presets_have_the_weights_of_the_table(row: dict[str, str]) -> None:
    (preset,) = quoted(row["preset"])
    head = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
    policy = config.parse(f"{head}preset: {preset}").policies().default
    weights = {rule.name: weight for rule, weight in policy.scorers}
    columns = {"price": "price", "fit": "resource_fit", "stability": "stability",
               "priority": "workload_priority", "equivalence": "equivalence", "guide": "guide"}  # fmt: skip
    assert {column: float(row[column]) for column in columns} == {
        column: weights[scorer] for column, scorer in columns.items()
    }


def test_the_document_at_the_top_is_taken() -> None:
    (text,) = re.findall(r"```yaml\n(apiVersion.*?)```", _PAGE, re.DOTALL)
    assert [policy.workload_class for policy in config.parse(text).policies().all()] == [
        "default", "critical", "nightly", "manual",
    ]  # fmt: skip
