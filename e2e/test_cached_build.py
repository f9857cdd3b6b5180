"""Programs are built once for their sources, by a compiler that is a script here."""

from pathlib import Path

import pytest

from e2e import cached_build, toolchain

# Writes its arguments into what follows -o, and counts how often it ran.
_COMPILER = """#!/bin/sh
echo run >> "$COUNT"
all="$*"
while [ "$1" != -o ]; do shift; done
echo "$all" > "$2"
chmod +x "$2"
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    compiler = tmp_path / "go"
    compiler.write_text(_COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setattr(toolchain, "go", lambda *_: compiler)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COUNT", str(tmp_path / "runs"))
    return tmp_path / "runs"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    directory = tmp_path / "sources"
    directory.mkdir()
    (directory / "main.go").write_text("package main")
    return directory


def test_built_once_and_anew_when_a_source_changes(runs: Path, sources: Path) -> None:
    first = cached_build.find("tool", sources, ".")
    assert cached_build.find("tool", sources, ".") == first
    assert runs.read_text().split() == ["run"]
    (sources / "main.go").write_text("package main // changed")
    assert cached_build.find("tool", sources, ".") != first
    assert runs.read_text().split() == ["run", "run"]


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("verb", "start"), [("build", "build -v "), ("test", "test -c ")])
def test_how_the_compiler_is_called(sources: Path, verb: str, start: str) -> None:
    said = cached_build.find("tool", sources, "./cmd", verb=verb).read_text()
    assert said.startswith(start)
    assert said.endswith(" ./cmd\n")


def test_nothing_is_kept_of_a_build_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sources: Path
) -> None:
    failing = tmp_path / "go"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setattr(toolchain, "go", lambda *_: failing)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(toolchain.BuildError):
        cached_build.find("tool", sources, ".")
    assert list((tmp_path / "cache" / "tradewind").iterdir()) == []
