"""When each pod was bound, by the clock of whoever watches."""

import threading
import time

from bench.errors import MeasurementError
from bench.machine import ProcessorTime
from e2e.api import Api
from e2e.processes import Process

_LONGEST_SECONDS = 3_600.0
_LONGEST_PAUSE_SECONDS = 60.0
_SECONDS_BETWEEN_LOOKS = 1.0


class Bindings(threading.Thread):
    """Follows a namespace's bindings from `start` until as many as expected were seen."""

    def __init__(self, api: Api, namespace: str, expected: int) -> None:
        # A daemon: when the measurement fails meanwhile, nobody waits for the watch to end.
        super().__init__(daemon=True)
        self._api = api
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._expected = expected
        self._watching = threading.Event()
        self._failure: Exception | None = None
        self._times: dict[str, float] = {}
        self.latest = time.monotonic()  # when the last binding so far was seen
        self.processor: list[ProcessorTime] = []  # at the first and at the last binding

    def start(self) -> None:
        """Returns when no binding can be missed any more."""
        super().start()
        self._watching.wait()

    def run(self) -> None:
        try:
            self._follow()
        except Exception as error:  # noqa: BLE001  told to whoever waits for the end
            self._failure = error
        finally:
            self._watching.set()

    def _follow(self) -> None:
        for change in self._api.changes(self._pods, _LONGEST_SECONDS, fieldSelector="spec.nodeName!="):
            if change.type == "SYNCED":
                self._watching.set()
            elif change.type != "DELETED":
                self._note(change.object["metadata"]["name"], time.monotonic())
            if len(self._times) == self._expected:
                return

    def _note(self, pod: str, now: float) -> None:
        if pod in self._times:
            return
        self._times[pod] = self.latest = now
        if len(self._times) in (1, self._expected):
            self.processor.append(ProcessorTime.now())

    def wait(self, binder: Process) -> None:
        """Returns when all were seen; raises when they cannot be any more."""
        while self.is_alive():
            self.join(_SECONDS_BETWEEN_LOOKS)
            if self.is_alive():
                self._check_progress(binder)
        if self._failure:
            raise MeasurementError(f"the watch of the bindings failed: {self._failure}") from self._failure
        if len(self._times) < self._expected:
            raise MeasurementError(f"{self._seen()} within {_LONGEST_SECONDS:.0f} s")

    def _check_progress(self, binder: Process) -> None:
        if not binder.running:
            raise MeasurementError(f"{binder.name} ended when {self._seen()}")
        if time.monotonic() - self.latest > _LONGEST_PAUSE_SECONDS:
            raise MeasurementError(f"{self._seen()}, and no other within {_LONGEST_PAUSE_SECONDS:.0f} s")

    def _seen(self) -> str:
        return f"{len(self._times)} of {self._expected} pods were bound"

    @property
    def seconds(self) -> float:
        """Between the first and the last binding."""
        return max(self._times.values()) - min(self._times.values())
