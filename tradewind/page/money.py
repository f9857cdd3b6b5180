"""The forecast of savings, made when somebody asks: once for a file, now and then for a live cluster."""

import asyncio
import time

from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.savings.forecast import Forecast, forecast
from tradewind.savings.question import asked

_SECONDS = 5.0  # for the solvers
_KEPT_SECONDS = 60.0


class Savings:
    def __init__(self, parts: Assembly) -> None:
        self._parts = parts
        self._making = asyncio.Lock()
        self._made: tuple[float, Forecast] | None = None

    async def newest(self) -> tuple[float, Forecast]:
        """With when it was made; whoever asks while it is being made waits for the same."""
        async with self._making:
            if self._made is None or self._old(self._made[0]):
                self._made = time.time(), await asyncio.to_thread(self._forecast)
            return self._made

    def _old(self, made: float) -> bool:
        return not self._parts.from_file and time.time() - made > _KEPT_SECONDS

    def _forecast(self) -> Forecast:
        worker = Worker()
        try:
            return forecast(asked(self._parts), worker, _SECONDS)
        finally:
            worker.close()
