"""The loop of the solvers' process, in this one: requests are put in beforehand, and it ends when they do."""

import math
import signal
import socket
from collections.abc import Iterator
from multiprocessing import Pipe
from typing import Any

import pytest

from tests.builders import node, pod
from tests.planner.cases import batch_of, copies, filled
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, Failure, Options, Outcome, Problem
from tradewind.planner.solver import serve


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """The loop ignores Ctrl-C: its parent ends it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def _problem() -> Problem:
    nodes = [node("a").cpu("4").price(2), node("b").cpu("4").price(2)]
    return batch_of(filled(nodes, copies(pod("p").requests(cpu="1"), "p", 3))).problem


def _answers(*requests: Any) -> list[Any]:
    ours, theirs = Pipe()
    with ours:
        for request in requests:
            ours.send(request)
        half = socket.socket(fileno=ours.fileno())
        half.shutdown(socket.SHUT_WR)  # no more requests; answers still come
        half.detach()
        with theirs:
            serve(theirs)
        found = []
        while ours.poll(0):
            try:
                found.append(ours.recv())
            except EOFError:
                break
    return found


def test_asking_for_the_end_of_an_answer_that_was_given_means_nothing() -> None:
    problem = _problem()
    request = ("optimise", problem, greedy(problem), 2.0, Options(0.0, math.inf, "auto"))
    loaded, first, *outcomes, last = _answers("stop", request)
    assert (loaded, first, last) == ("loaded", "ready", "done")
    assert [each.engine for each in outcomes] == ["exact"]


def test_each_request_is_acknowledged_and_ended() -> None:
    problem = _problem()
    floor = greedy(problem)
    loaded, first, *outcomes, last = _answers(
        ("optimise", problem, floor, 2.0, Options(0.0, math.inf, "auto"))
    )
    assert (loaded, first, last) == ("loaded", "ready", "done")
    assert [type(each) for each in outcomes] == [Outcome]
    assert outcomes[0].engine == "exact"
    # 3 of 4 cores of a node for 2 dollars
    assert _answers(("lower_bound", problem, floor, 2.0, None)) == [
        "loaded",
        "ready",
        pytest.approx(1.5),
        "done",
    ]


def test_what_a_solver_raises_is_told_and_the_next_request_served() -> None:
    problem = _problem()
    nothing: Assignment = {}
    requests = [("lower_bound", each, nothing, 1.0, None) for each in (None, problem)]
    _, ready, failure, again, bound, done = _answers(*requests)
    assert isinstance(failure, Failure)
    assert failure.text.startswith("AttributeError: ")
    assert (ready, again, bound, done) == ("ready", "ready", 0.0, "done")
