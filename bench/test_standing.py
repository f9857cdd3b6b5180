"""The standing plan's benchmark in small."""

import pytest

from bench.standing import main


def test_the_table_has_the_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--small"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")][1:4] == ["small", "200", "50"]
