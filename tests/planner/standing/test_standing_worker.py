"""The standing plan's own process: the same answers as here, bounded, and replaced when it is lost."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.builders import node, pod
from tests.planner.cases import filled, policy_of
from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import Role
from tradewind.planner.solver_process import SolverLostError
from tradewind.planner.standing.solver import MAX_BYTES
from tradewind.planner.standing.standing import Solved
from tradewind.planner.standing.worker import StandingWorker


@pytest.fixture
def worker() -> Iterator[StandingWorker]:
    found = StandingWorker()
    yield found
    found.close()


def _cluster() -> Cache:
    return filled(
        [node(name).cpu("4").price(1.0) for name in "abc"], [pod("p").requests(cpu="1").on("b"), pod("q")]
    )


def _solved(worker: StandingWorker, cache: Cache, needed: frozenset[str] = frozenset()) -> Solved:
    found = worker.solve(*cache.state(), policy_of, 10.0, needed)
    assert found is not None
    return found


def test_the_process_follows_the_cluster(worker: StandingWorker) -> None:
    cache = _cluster()
    assert _solved(worker, cache).guide.counts() == {Role.FILL: 1, Role.KEEP: 0, Role.DRAIN: 2}
    pid = worker.pid
    for number in range(6):
        cache.apply_pod(pod(f"more{number}").requests(cpu="1").build())
    assert _solved(worker, cache).guide.counts() == {Role.FILL: 1, Role.KEEP: 1, Role.DRAIN: 1}
    assert worker.pid == pid


def test_the_process_knows_what_is_owed(worker: StandingWorker) -> None:
    """One pod of a core is there, six are wanted: more than a node of four cores."""
    one = pod("p").requests(cpu="1").on("b").owner("ReplicaSet", "web", "uid-web")
    cache = filled([node(name).cpu("4").price(1.0) for name in "abc"], [one])
    found = worker.solve(*cache.state(), policy_of, 10.0, wanted={"default/uid-web": 6})
    assert found is not None
    assert found.guide.counts() == {Role.FILL: 1, Role.KEEP: 1, Role.DRAIN: 1}


def test_a_lost_process_is_replaced_and_told_everything(worker: StandingWorker) -> None:
    cache = _cluster()
    first = _solved(worker, cache)
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    try:
        second = _solved(worker, cache)
    except SolverLostError:  # it was not yet seen to be gone
        second = _solved(worker, cache)
    assert second.guide.says_the_same_as(first.guide)


def test_a_failure_inside_is_told_and_ends_the_process(worker: StandingWorker) -> None:
    with pytest.raises(SolverLostError, match="told of no policy"):
        worker.solve(*_cluster().state(), None, 10.0)  # type: ignore[arg-type]
    assert worker.pid is None


def test_its_memory_is_bounded(worker: StandingWorker) -> None:
    _solved(worker, _cluster())
    with open(f"/proc/{worker.pid}/limits", encoding="utf-8") as limits:  # noqa: PTH123
        (limit,) = [line for line in limits if line.startswith("Max data size")]
    assert limit.split()[3:5] == [str(MAX_BYTES)] * 2


def test_roles_of_a_guide_from_before_are_kept(worker: StandingWorker) -> None:
    """Of three equal and empty nodes any would do."""
    cache = filled([node(name).cpu("4").price(1.0) for name in "abc"], [pod("q").requests(cpu="1")])
    guide = _solved(worker, cache, frozenset({"c"})).guide
    assert list(guide.needed()) == ["c"]
