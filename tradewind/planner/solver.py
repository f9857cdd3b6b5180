"""What runs in the process of `tradewind.planner.worker`: problems come in, ever better placements go out."""

import sys
from functools import partial
from multiprocessing.connection import Connection

from tradewind.planner import bound, engine, solver_process
from tradewind.planner.problem import Assignment, Options, Problem


def serve(connection: Connection) -> None:
    solver_process.serve(connection, partial(_answer, connection))


def _answer(connection: Connection, request: tuple[str, Problem, Assignment, float, Options | None]) -> None:
    name, problem, assignment, seconds, options = request
    if name == "lower_bound":
        connection.send(bound.lower_bound(problem, assignment, seconds))
    elif options is not None:
        engine.optimise(
            problem,
            assignment,
            seconds,
            connection.send,
            options.patience,
            idle=options.idle,
            told=connection.poll,
            engine=options.engine,
        )


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
