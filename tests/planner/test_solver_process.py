"""One deadline for a request and its answer: a process that stops in between is killed and started again."""

import threading
import time

import pytest

from tests.planner import deaf_solver
from tradewind.planner import solver_process
from tradewind.planner.solver_process import SolverLostError, SolverProcess

_LARGE = b"x" * 10_000_000  # no socket buffers so much


class Faulty(SolverProcess):
    def __init__(self, fault: str) -> None:
        super().__init__(deaf_solver.__name__)
        self.fault = fault

    def _command(self, descriptor: int) -> list[str]:
        *head, last = super()._command(descriptor)
        return [*head, self.fault, last]

    def answer(self, request: object, seconds: float) -> object:
        return self.receive(self.ask(request), time.monotonic() + seconds)


@pytest.mark.parametrize("fault", ["silent", "deaf", "mute", "stuck"])
def test_a_process_that_stops_is_killed_and_started_again(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    faulty = Faulty(fault)
    try:
        faulty.start()
        killed = faulty._process
        assert killed
        monkeypatch.setattr(solver_process, "_START_SECONDS", 60.0 if fault == "stuck" else 1.0)
        without_deadline = threading.Timer(60, killed.kill)
        without_deadline.daemon = True
        without_deadline.start()
        with pytest.raises(SolverLostError):
            faulty.answer(_LARGE, 1.0)
        assert without_deadline.is_alive(), "only this test ended it"
        without_deadline.cancel()
        assert killed.returncode is not None
        assert faulty.pid is None
        monkeypatch.setattr(solver_process, "_START_SECONDS", 60.0)
        faulty.fault = "none"
        assert faulty.answer(_LARGE, 60.0) == "answer"
    finally:
        faulty.close()
