"""What runs in the process of `tradewind.planner.worker`: problems come in, ever better placements go out."""

import os
import signal
import sys
from multiprocessing.connection import Connection

from tradewind.planner import bound, engine
from tradewind.planner.problem import Failure

# A plan can wait for a millisecond; kube-scheduler, whose requests may be answered on the same cores, cannot.
_NICENESS = 5

_LOADED, _READY, _DONE = "loaded", "ready", "done"


def serve(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when it ends
    os.nice(_NICENESS)
    connection.send(_LOADED)
    while True:
        try:
            name, problem, assignment, seconds, patience, idle = connection.recv()
            connection.send(_READY)
            try:
                if name == "lower_bound":
                    connection.send(bound.lower_bound(problem, assignment, seconds))
                else:
                    engine.optimise(problem, assignment, seconds, connection.send, patience, idle=idle)
            except OSError:
                raise
            except Exception as error:  # noqa: BLE001  whatever a solver raises costs this plan only
                connection.send(Failure(f"{type(error).__name__}: {error}"))
            else:
                connection.send(_DONE)
        except (EOFError, OSError):  # the parent is gone
            return


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
