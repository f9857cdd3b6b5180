"""What runs in the process of `tradewind.savings.worker`: a cluster comes in, then a question about it."""

import resource
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tradewind.cluster.objects import Node, Pod
from tradewind.config.document import Document
from tradewind.errors import TradewindError
from tradewind.planner import solver_process
from tradewind.planner.worker import Worker
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import CopiedSource
from tradewind.savings import difference_report, html
from tradewind.savings.changes import Changes
from tradewind.savings.difference_report import Summary
from tradewind.savings.forecast import forecast
from tradewind.savings.question import asked
from tradewind.savings.what_if import what_if
from tradewind.savings.worker import Refused, Rendered, Told


class Desk:
    """Holds one cluster, and answers questions about it."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._told: Told | None = None
        self._nodes: list[Node] = []
        self._pods: list[Pod] = []
        self._worker = Worker()

    def answer(self, request: tuple[Any, ...]) -> None:
        name, *rest = request
        getattr(self, name)(*rest)

    def cluster(self, told: Told) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (told.max_bytes, told.max_bytes))
        self._told = told

    def nodes(self, nodes: list[Node]) -> None:
        self._nodes += nodes

    def pods(self, pods: list[Pod]) -> None:
        self._pods += pods

    def forecast(self, seconds: float) -> None:
        def work(parts: Assembly) -> Rendered:
            told = forecast(asked(parts), self._worker, seconds)
            return Rendered(html.content(told), html.page(told), told.trouble)

        self._answered(work)

    def what_if(self, seconds: float, changes: Changes, document: Document | None, most: int) -> None:
        def work(parts: Assembly) -> Summary:
            found = what_if(parts, changes, self._worker, seconds, document)
            return difference_report.summary(found, most)

        self._answered(work)

    def _answered(self, work: Callable[[Assembly], Any]) -> None:
        if self._told is None:
            raise LookupError("asked before it was told of a cluster")
        told = self._told
        copied = told.copied._replace(nodes=self._nodes, pods=self._pods)
        try:
            parts = Assembly(CopiedSource(told.name, copied), told.document)
            parts.market.adopt(told.sources)
            with parts.started():
                found = work(parts)
        except TradewindError as error:
            found = Refused(str(error))
        except MemoryError:
            found = Refused(
                f"it takes more than the {told.max_bytes // 2**20} MiB of memory that are left for it here; "
                "'kubectl tradewind page' works it out where you are"
            )
        finally:
            self._worker.close()
        self._send(found)


def serve(connection: Connection) -> None:
    solver_process.serve(connection, Desk(connection.send).answer)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
