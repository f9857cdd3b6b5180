"""The version before, from the repository's history: what an upgrade comes from and a rollback goes to."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
# The last with one key for label, gate and annotation; there is no tag yet.
_COMMIT = "948539cfd37fbcf840f9152cbae736f31a7304b3"
_PACKAGES = ("tradewind", "extender", "scoring")


def unpack(target: Path) -> dict[str, str]:
    """The environment in which `python -m tradewind` is that version; a clone without it skips the test."""
    command = ["git", "archive", "--format=tar", _COMMIT, *_PACKAGES]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"the version before is not in this clone: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(target, filter="data")
    # Else `-m` would look into the working directory first, where the new one is.
    return {"PYTHONPATH": str(target), "PYTHONSAFEPATH": "1"}
