"""Builds with a compiler that is a script: what is left open, and what is said when it fails."""

import gc
import warnings
from pathlib import Path

import pytest

from e2e import toolchain


def _compiler(directory: Path, script: str) -> Path:
    program = directory / "go"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("script", "fails"),
    [
        pytest.param("echo example.com/package >&2", False, id="a build"),
        pytest.param("echo 'main.go:1: no' >&2; exit 1", True, id="one that fails"),
    ],
)
def test_nothing_is_left_open(tmp_path: Path, script: str, fails: bool) -> None:
    """Inside pytest a pipe that is left to the garbage collector is an error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            toolchain.build(_compiler(tmp_path, script), [], directory=tmp_path)
            failed = False
        except toolchain.BuildError:
            failed = True
        gc.collect()
    assert failed is fails
    assert [str(warning.message) for warning in seen] == []


def test_progress_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = "echo 'go: downloading k8s.io/api v0.36.0' >&2; echo k8s.io/api/core/v1 >&2"
    toolchain.build(_compiler(tmp_path, script), [], directory=tmp_path)
    told = capsys.readouterr().out
    assert "1 module downloaded, 1 package compiled, last k8s.io/api/core/v1: done" in told


def test_failure_says_what_the_compiler_said_and_nothing_else(tmp_path: Path) -> None:
    script = (
        "echo 'go: downloading k8s.io/api v0.36.0' >&2; echo k8s.io/api >&2; echo 'main.go:1: no' >&2; exit 1"
    )
    with pytest.raises(toolchain.BuildError) as raised:
        toolchain.build(_compiler(tmp_path, script), [], directory=tmp_path)
    assert str(raised.value).endswith(":\nmain.go:1: no")
