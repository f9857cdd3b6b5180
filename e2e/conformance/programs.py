"""What the conformance run needs beside the control plane: the specs, and kwok, which plays kubelet."""

from pathlib import Path

from e2e import cached_build

_HERE = Path(__file__).parent


def specs() -> Path:
    return cached_build.find("scheduling-specs", _HERE / "specs", ".", verb="test")


def kwok() -> Path:
    return cached_build.find("kwok", _HERE / "kwok", "sigs.k8s.io/kwok/cmd/kwok")
