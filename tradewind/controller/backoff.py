"""What is tried in vain is tried less and less."""

# After so many, it is tried once in 16 times.
_MAX_DOUBLINGS = 4


class Backoff:
    """Each time that it was in vain, it is skipped twice as often."""

    def __init__(self) -> None:
        self._doublings = 0
        self._left = 0

    def skips(self) -> bool:
        return self._left > 0

    def record(self, *, found: bool) -> None:
        """After each time, skipped or not."""
        if self._left:
            self._left -= 1
        elif not found:
            self._doublings = min(self._doublings + 1, _MAX_DOUBLINGS)
            self._left = 2**self._doublings - 1
        else:
            self._doublings = 0
