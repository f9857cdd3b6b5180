"""Measurements that are repeated: for their spread, and where other work on the machine disturbed one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bench import machine

Say = Callable[[str], None]

_MOST_ATTEMPTS = 4
_PATIENCE_SECONDS = 300.0


class Measured(Protocol):
    @property
    def others_cores(self) -> float: ...  # that processes took which have no part in the measurement

    @property
    def line(self) -> str: ...  # for people who watch


Measurement = TypeVar("Measurement", bound=Measured)


@dataclass(frozen=True, kw_only=True)
class Runs:
    """How often everything is measured, how calm the machine must be, and who is told."""

    count: int
    calm: float  # cores that other work may take before a measurement is repeated
    say: Say

    def until_calm(self) -> None:
        machine.wait_for_calm(self.calm, _PATIENCE_SECONDS)

    def of(self, measure: Callable[[], Measurement]) -> list[Measurement]:
        """One for each run, the calmest of its attempts."""
        made = []
        for run in range(self.count):
            self.until_calm()
            made.append(self.attempts(run, measure)[0])
        return made

    def attempts(self, run: int, measure: Callable[[], Measurement]) -> list[Measurement]:
        """The calmest first: chosen by the noise alone, never by the speed."""
        made: list[Measurement] = []
        while not made or (len(made) < _MOST_ATTEMPTS and made[-1].others_cores > self.calm):
            made.append(measure())
            self._tell(run, made[-1])
        return sorted(made, key=lambda each: each.others_cores)

    def _tell(self, run: int, measured: Measured) -> None:
        noisy = measured.others_cores > self.calm
        noise = f"  while other work took {measured.others_cores:.1f} cores" if noisy else ""
        self.say(f"  run {run + 1}  {measured.line}{noise}")
