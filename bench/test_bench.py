"""The whole benchmark in small: every contender places pods on a real control plane, in both samplings."""

from pathlib import Path

import msgspec
import pytest

from bench import report
from bench.__main__ import main
from bench.document import Document

ONLY = ["--parts", "throughput"]


def test_every_contender_is_measured_in_every_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "deeper" / "figures.json"
    assert main([*ONLY, "--nodes", "120", "--pods", "20", "--runs", "1", "--output", str(output)]) == 0

    printed = capsys.readouterr().out
    written = msgspec.json.decode(output.read_bytes())
    rows = Document.read([output]).figures()
    assert {(row.case.percentage, row.contender) for row in rows} == {
        (percentage, contender)
        for percentage in (0, 100)
        for contender in ("plain", "echo", "go", "tradewind")
    }
    assert report.table(rows) in printed
    assert [goal["what"] for goal in written["goals"]] == [
        f"pods/s with Tradewind / with the {peer} extender, {seen} of 120 nodes"
        for peer in ("echo", "go")
        for seen in (100, 120)
    ]
    for result in written["throughput"]:
        for measured in result["measurements"]:
            verbs = {} if measured["contender"] == "plain" else {"filter": 20, "prioritize": 20}
            assert {
                verb: sum(entry["outcomes"].values()) for verb, entry in measured["service"].items()
            } == verbs
    assert written["machine"]["kubernetes"].startswith("v1.")
    assert str(output) in printed


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--nodes", "1"], id="one node is no choice"),
        pytest.param(["--nodes", "many"], id="not a number"),
        pytest.param(["--sampling", "101"], id="more than all nodes"),
        pytest.param(["--contenders", "plain,magic"], id="an unknown contender"),
        pytest.param(["--runs", "0"], id="no run"),
        pytest.param(["--parts", "magic"], id="an unknown part"),
    ],
)
def test_a_plan_that_cannot_be_measured_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
