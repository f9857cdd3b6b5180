"""Full clusters of different workloads, offline."""

import pytest

from bench import mixed


def test_a_small_cluster_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    assert mixed.main(["--nodes", "4", "--seeds", "1", "2", "--seconds", "5"]) == 0
    assert capsys.readouterr().out.endswith("2 of 2 complete, 0 rules broken\n")


def test_a_broken_rule_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mixed, "violations", lambda *_: ["a on n0: node(s) had no room"])
    assert mixed.main(["--nodes", "4", "--seeds", "1", "--seconds", "1"]) == 1
    assert "broken: a on n0" in capsys.readouterr().out
