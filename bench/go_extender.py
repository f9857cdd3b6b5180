"""The Go peer's program: built from bench/goextender once, with the control plane's toolchain.

`python -m bench.go_extender` does only that, so that a first build shows its progress before any test starts.
"""

import sys
from pathlib import Path

from e2e import cached_build, toolchain

_SOURCES = Path(__file__).parent / "goextender"


def find() -> Path:
    return cached_build.find("goextender", _SOURCES, ".")


def main() -> int:
    return toolchain.told(lambda: f"The Go extender is {find()}.")


if __name__ == "__main__":
    sys.exit(main())
