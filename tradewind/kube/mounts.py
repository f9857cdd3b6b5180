"""Files that are replaced while we run: a mounted ConfigMap or Secret is swapped by a symlink."""

import os
from collections.abc import Sequence
from pathlib import Path


class Watched:
    """`changed` is true once after each change of any of these files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen = self._identity()

    def changed(self) -> bool:
        identity = self._identity()
        changed = identity != self._seen
        self._seen = identity
        return changed

    def _identity(self) -> list[tuple[int, ...]]:
        return [_identity(path) for path in self._paths]


def _identity(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)  # noqa: PTH116  follows the symlinks of the mount, which is the point
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size
