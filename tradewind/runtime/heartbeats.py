"""Signs of life of the loops of a process."""

import time
from collections.abc import Callable


class Heartbeats:
    """Each loop says with a beat when the next is due at the latest; usable from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def beat(self, loop: str, within: float) -> None:
        """`within` is how many seconds one round may take where nothing is broken."""
        self._due[loop] = self._clock() + within

    def missed(self) -> str:
        """The loops whose beat is overdue; empty while there is none."""
        now = self._clock()
        late = {loop: now - due for loop, due in list(self._due.items()) if now >= due}
        return "; ".join(
            f"loop {loop}: heartbeat overdue for {seconds:.0f} s" for loop, seconds in late.items()
        )
