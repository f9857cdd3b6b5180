"""The solvers' process may be lost at any time; the plan then is the floor or what was reported before."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import node, pod
from tests.planner.cases import apart, batch_of, boreas_nodes, copies, filled, near, policy_of, replicas
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.problem import Outcome, Problem
from tradewind.planner.worker import Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def _boreas_b() -> Problem:
    pods = [
        *replicas("balder", 4, "200m", "800M"),
        *near(apart(replicas("freyja", 4, "300m", "1200M"), "freyja"), "nerthus"),
        *apart(replicas("nerthus", 4, "300m", "1200M"), "nerthus"),
        *replicas("skadi", 8, "200m", "800M"),
    ]
    return batch_of(filled(boreas_nodes(), pods)).problem


def _long() -> Problem:
    """Sizes that do not go together: nothing that a solver finishes in a moment."""
    nodes = [node(f"n{number}").cpu("7").price(1 + number / 7) for number in range(60)]
    pods = [pod(f"p{number}").requests(cpu=f"{701 + 37 * number % 1900}m") for number in range(200)]
    return batch_of(filled(nodes, pods)).problem


def test_the_solver_betters_the_floor_and_serves_again(worker: Worker) -> None:
    problem = _boreas_b()
    floor = greedy(problem)
    assert sum(floor.values()) < 20
    for _ in range(2):
        result = worker.solve(problem, floor, 20)
        assert result.failure == ""
        assert sum(result.outcome.assignment.values()) == 20
    pid = worker.pid
    assert worker.lower_bound(problem, floor, 20) is not None
    assert worker.pid == pid


def test_the_solvers_yield_to_other_processes(worker: Worker) -> None:
    problem = _boreas_b()
    worker.solve(problem, greedy(problem), 1.0)
    assert worker.pid is not None
    nicer = os.getpriority(os.PRIO_PROCESS, worker.pid) - os.getpriority(os.PRIO_PROCESS, 0)
    assert nicer == min(5, 19 - os.getpriority(os.PRIO_PROCESS, 0))


def test_a_killed_solver_costs_that_plan_only(worker: Worker) -> None:
    worker.start()
    victim = worker.pid
    assert victim is not None
    os.kill(victim, signal.SIGSTOP)  # so that it dies with the problem in hand, however fast it is
    problem = _boreas_b()
    floor = greedy(problem)
    killing = threading.Timer(0.2, os.kill, (victim, signal.SIGKILL))
    killing.start()
    result = worker.solve(problem, floor, 20)
    killing.join()
    assert "ended with exit code -9" in result.failure
    assert result.outcome == Outcome(floor, "greedy")
    again = worker.solve(problem, floor, 20)
    assert again.failure == ""
    assert worker.pid != victim


def test_the_solvers_are_loaded_once_their_process_has_said_so(worker: Worker) -> None:
    def loaded() -> bool:
        return worker.loaded

    assert not loaded()
    worker.start()
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)  # before it can have loaded anything
    assert not loaded()
    os.kill(worker.pid, signal.SIGCONT)
    deadline = time.monotonic() + 60
    while not loaded() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.solve(_boreas_b(), {}, 20).failure == ""
    assert loaded()
    os.kill(worker.pid, signal.SIGKILL)
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert not loaded()


def test_a_search_ends_when_there_was_enough_of_it_and_the_next_has_its_time(worker: Worker) -> None:
    problem = _long()
    floor = greedy(problem)
    result = worker.solve(problem, floor, 20, idle=20, enough=lambda: True)
    assert result.failure == ""
    assert sum(result.outcome.assignment.values()) == sum(floor.values())
    assert "windows" not in result.outcome.engine, "what comes last in a search"
    again = worker.solve(_boreas_b(), {}, 20)
    assert sum(again.outcome.assignment.values()) == 20


def test_a_solver_that_hangs_is_ended_at_its_deadline(worker: Worker) -> None:
    problem = _long()
    floor = greedy(problem)
    assert worker.solve(_boreas_b(), {}, 20).failure == ""  # loaded, so that only the solving is stopped
    pid = worker.pid
    assert pid is not None
    stopping = threading.Timer(0.3, os.kill, (pid, signal.SIGSTOP))
    stopping.start()
    result = worker.solve(problem, floor, 4)
    stopping.join()
    assert "not done in time" in result.failure
    assert worker.pid is None
    assert sum(result.outcome.assignment.values()) == sum(floor.values())


def test_a_plan_is_made_without_the_solver_too() -> None:
    pods = copies(pod("p").requests(cpu="1"), "p", 3)
    cache = filled([node("n")], pods)
    planned = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1)
    assert len(planned.plan.placements) == 3
    assert planned.plan.engine == "greedy"


def test_an_error_inside_the_solver_is_told(worker: Worker) -> None:
    result = worker.solve("no problem", {}, 1)  # type: ignore[arg-type]
    assert "the solver failed: AttributeError" in result.failure
    assert worker.solve(_boreas_b(), {}, 20).failure == ""


def test_a_batch_that_is_too_large_for_the_time_is_not_sent(worker: Worker) -> None:
    cache = filled([node("n")], copies(pod("p").requests(cpu="1"), "p", 3))
    for seconds, engine in ((1e-9, "greedy"), (20.0, "exact")):
        planned = plan(cache.snapshot(), cache.all_pods(), policy_of, worker, seconds)
        assert planned.plan.engine == engine
        assert planned.failure == ""
        assert (worker.pid is None) == (engine == "greedy")


def test_the_solvers_find_us_as_one_package(monkeypatch: pytest.MonkeyPatch, worker: Worker) -> None:
    """With the package's own directory on the path, `import config` there would find ours."""
    started: list[tuple[list[str], str]] = []

    def popen(command: list[str], *, env: dict[str, str], **_: object) -> None:
        started.append((command, env["PYTHONPATH"]))
        raise OSError("not started")

    monkeypatch.setattr(subprocess, "Popen", popen)
    assert "not started" in worker.solve(_boreas_b(), {}, 1).failure
    [(command, path)] = started
    assert "tradewind.planner.solver" in command
    assert (Path(path.split(os.pathsep)[0]) / "tradewind" / "planner").is_dir()
