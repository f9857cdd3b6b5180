"""How much unfinished requests may hold, and for how long."""

# As long as kube-scheduler waits by default for an answer, the body included.
READ_SECONDS = 5.0
# Bodies of the largest size that are received at once. kube-scheduler sends one after the other.
_LARGEST_AT_ONCE = 2


class Uploads:
    """Bytes of bodies that are not complete yet, over all connections. For one event loop."""

    def __init__(self) -> None:
        self._held = 0
        self._limit = 0

    def allow(self, max_body_bytes: int) -> None:
        self._limit = max(self._limit, _LARGEST_AT_ONCE * max_body_bytes)

    def take(self, size: int) -> bool:
        """Whether there is room for this many bytes; `release` gives it back."""
        if self._held + size > self._limit:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        self._held -= size
