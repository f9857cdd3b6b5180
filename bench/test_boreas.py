"""Many runs in several calls: each goes on after the last."""

from pathlib import Path

import msgspec

from bench.boreas import Run, due, recorded, row
from e2e import boreas
from e2e.boreas_run import Outcome

_A, _C = (next(case for case in boreas.CASES if case.name == name) for name in "AC")


def _run(case: str, planned: int, plain: int) -> Run:
    def on_nodes(pods: int) -> Outcome:
        return Outcome({f"p{number}": f"n{number % 6}" for number in range(pods)}, 0.5)

    return Run(case, on_nodes(planned), on_nodes(plain))


def test_cases_take_turns_until_each_has_its_runs() -> None:
    assert [case.name for case in due([_A, _C], [], 2)] == ["A", "C", "A", "C"]
    done = [_run("A", 20, 20), _run("A", 20, 20)]
    assert [case.name for case in due([_A, _C], done, 3)] == ["C", "C", "A", "C"]


def test_runs_are_kept_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "runs"
    assert recorded(file) == []
    runs = [_run("A", 20, 20), _run("C", 20, 17)]
    file.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in runs))
    assert recorded(file) == runs


def test_a_row_counts_the_runs_of_its_case() -> None:
    runs = [_run("A", 20, 20), _run("C", 20, 17), _run("C", 19, 16)]
    assert row(_C, runs) == ["C", "20", "1 of 2", "6", "0.50, 0.50", "0 of 2", "16", "6"]
