"""What the documents name is there, and what they list is complete."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text()
INDEX = (ROOT / "docs" / "adr" / "README.md").read_text()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\((?!\w+:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_architecture_names_modules_that_exist() -> None:
    named = re.findall(r"`([\w./-]+/[\w./-]+)`", ARCHITECTURE)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_architecture_has_the_rooms_that_are_enforced() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = re.findall(r"^\| (`[^|]+`) \|", ARCHITECTURE.partition("## A request")[0], re.MULTILINE)
    assert [re.findall(r"`([\w.]+)`", row) for row in rows] == [
        re.split(r" [|:] ", layer) for layer in layers
    ]


@pytest.mark.parametrize(
    "promise", re.split(r"^## ", GUARANTEES, flags=re.MULTILINE)[1:], ids=lambda text: text.partition(".")[0]
)
def test_each_promise_names_tests_that_exist(promise: str) -> None:
    named = re.findall(r"^- `([\w/]+\.py)::(\w+)`$", promise, re.MULTILINE)
    assert named
    assert [each for each in named if f"def {each[1]}(" not in (ROOT / each[0]).read_text()] == []


def test_index_of_decisions_is_complete() -> None:
    written = {}
    for path in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")):
        number, title = path.read_text().splitlines()[0].removeprefix("# ").split(". ", 1)
        written[number, path.name] = title
    listed = re.findall(r"^\| \[(\d+)\]\(([\w.-]+)\) \| (.+) \|$", INDEX, re.MULTILINE)
    assert {(number, name): title for number, name, title in listed} == written


def test_what_the_readme_says_of_throughput_is_what_was_measured() -> None:
    """Medians of the tables that the benchmark writes, by nodes, sampling and contender."""
    measured = (ROOT / "docs" / "performance.md").read_text()
    table = re.findall(
        r"^\| ([\d,]+) \| (default|100 %) +\| (\w+) +\| +(\d+) \(.*?\) \| +([\d.]*) \|",
        measured,
        re.MULTILINE,
    )
    pods = {(nodes, sampling, who): (median, of_plain) for nodes, sampling, who, median, of_plain in table}
    burst = dict(re.findall(r"^\| (plain|planned) +\| +(\d+) \(", measured, re.MULTILINE))
    said = " ".join((ROOT / "README.md").read_text().split())

    def median(nodes: str, who: str, sampling: str = "default") -> str:
        return str(pods[nodes, sampling, who][0])

    large, small = (pods[nodes, "default", "tradewind"] for nodes in ("5,000", "1,000"))
    assert (
        f"bound {large[0]} pods/s instead of {median('5,000', 'plain')} in a cluster of 5,000 nodes "
        f"({large[1]} of plain), and {small[0]} instead of {median('1,000', 'plain')} with 1,000 nodes "
        f"({small[1]})"
    ) in said
    assert f"leaves {median('5,000', 'echo')} and {median('1,000', 'echo')}" in said
    assert f"{burst['planned']} pods/s in a burst of 5,000, against {burst['plain']} without" in said
    looked = (median("5,000", who, "100 %") for who in ("tradewind", "plain"))
    assert "{} pods/s instead of {} with 5,000 nodes".format(*looked) in said
