"""docs/fleet.md has every key of the configuration, with its default, and the scorers' weights."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from tradewind.config.document import parse
from tradewind.errors import ConfigurationError
from tradewind.fleet.settings import FleetSettings, SiteSettings
from tradewind.fleet.summary import (
    MAX_BYTES,
    MAX_LABELS,
    MAX_RESOURCES,
    MAX_ROWS,
    MAX_TAINTS,
    MAX_WAITING,
)
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_PAGE = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")
_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"


@pytest.mark.parametrize(
    ("heading", "settings"), [("`fleet`:", FleetSettings), ("`fleet.site`:", SiteSettings)]
)
def test_every_key_has_a_row_with_its_default(heading: str, settings: type[BaseModel]) -> None:
    rows = re.findall(
        r"^\| (`.+?) \| (.*?) \|",
        _PAGE.partition(f"Keys below {heading}")[2].partition("##")[0],
        re.MULTILINE,
    )
    table = rows if settings is SiteSettings else [row for row in rows if row[0] not in _site_rows()]
    told = {key: default for keys, default in table for key in re.findall(r"`(\w+)`", keys)}
    fields = {field.alias: field for field in settings.model_fields.values()}
    assert told.keys() == fields.keys()
    for name, field in fields.items():
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            assert str(field.default).removesuffix(".0") in told[str(name)].split(", ")


def _site_rows() -> set[str]:
    return set(re.findall(r"^\| (`.+?) \|", _PAGE.partition("Keys below `fleet.site`")[2], re.MULTILINE))


def test_the_weights_are_told() -> None:
    told = dict(re.findall(r"(\w+) ([\d.]+)", re.findall(r"`weights` \| (.*?) \|", _PAGE)[0]))
    assert {name: float(weight) for name, weight in told.items()} == DEFAULT_WEIGHTS


def test_the_documents_are_taken() -> None:
    member, classes, scores = re.findall(r"```yaml\n(.*?)```", _PAGE, re.DOTALL)
    assert parse(member).fleet.site.name == "member1"
    assert parse(classes).fleet.classes.keys() == {"web", "batch"}
    assert parse(scores).fleet.classes.keys() == {"web"}


def test_each_row_of_the_contract_names_tests_that_there_are() -> None:
    rows = _PAGE.partition("## Karmada's contract")[2].partition("\n## ")[0].splitlines()[4:]
    root = Path(__file__).parents[2]
    files = [*root.glob("tests/*/test_*.py"), *root.glob("e2e/test_fleet*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    table = [row for row in rows if row.startswith("| ")]
    assert len(table) > 20
    for row in table:
        named = re.findall(r"`(test_\w+)`", row.rsplit("|", 2)[1])
        assert named, row
        assert all(f"def {name}(" in source for name in named), row


def test_the_limits_of_a_summary_are_told() -> None:
    told = " ".join(_PAGE.partition("## What members may do")[2].partition("## ")[0].split())
    limits = f"{MAX_BYTES // 1024} KiB, {MAX_ROWS} rows and kinds of nodes, {MAX_RESOURCES} resources, "
    assert f"{limits}{MAX_LABELS} labels and {MAX_TAINTS} taints of a kind, {MAX_WAITING} workloads" in told


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fleet: {weights: {luck: 1}}", 'no scorer of sites is called "luck"'),
        ("fleet: {weights: {price: -1}}", "fleet.weights.price"),
        ("fleet: {site: {latitude: 91}}", "fleet.site.latitude"),
        ("fleet: {sites: 3}", "fleet.sites: unknown key"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        parse(_HEAD + text)
