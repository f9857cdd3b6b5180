"""How long to wait before the next try, never in step with other clients."""

import random


class Backoff:
    """Doubled with each failure in a row up to a maximum; each delay is somewhere in its upper half."""

    def __init__(self, first_seconds: float, max_seconds: float) -> None:
        self._first = first_seconds
        self._max = max_seconds
        self._next = first_seconds

    def next(self) -> float:
        whole, self._next = self._next, min(2 * self._next, self._max)
        return whole * random.uniform(0.5, 1)  # noqa: S311  no secret

    def reset(self) -> None:
        self._next = self._first


def jittered(seconds: float) -> float:
    """For what is repeated at a steady pace: up to a fifth longer."""
    return seconds * random.uniform(1, 1.2)  # noqa: S311  no secret
