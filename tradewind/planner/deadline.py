"""The end of the time for one step of a plan: what is not planned by then stays unplanned."""

import math
import time

NEVER = math.inf


class OutOfTimeError(Exception):
    """A step that has no part to return took too long, or would."""


def is_over(deadline: float) -> bool:
    """`deadline` is of time.monotonic."""
    return time.monotonic() > deadline


def ensure_time(deadline: float) -> None:
    if is_over(deadline):
        raise OutOfTimeError
