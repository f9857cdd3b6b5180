"""What runs in the process of `tradewind.planner.worker`: problems come in, ever better placements go out."""

import sys
from functools import partial
from multiprocessing.connection import Connection

from tradewind.planner import bound, engine, solver_process
from tradewind.planner.problem import Assignment, Problem


def serve(connection: Connection) -> None:
    solver_process.serve(connection, partial(_answer, connection))


def _answer(connection: Connection, request: tuple[str, Problem, Assignment, float, float, float]) -> None:
    name, problem, assignment, seconds, patience, idle = request
    if name == "lower_bound":
        connection.send(bound.lower_bound(problem, assignment, seconds))
    else:
        engine.optimise(problem, assignment, seconds, connection.send, patience, idle=idle)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
