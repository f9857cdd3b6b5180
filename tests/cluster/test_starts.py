"""What is seen of starting pods, read from the API's JSON."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.starts import Outcome, Progress, Start, StartWatch, read_start
from tradewind.errors import UnreadableObjectError


def _json(status: Any, **metadata: Any) -> bytes:
    return json.dumps(
        {"metadata": {"name": "p", "uid": "u", **metadata}, "spec": {"nodeName": "a"}, "status": status}
    ).encode()


def _waiting(reason: str | None) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


_RUNNING: dict[str, Any] = {"state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "progress"),
    [
        (None, Progress.WAITING),
        ({}, Progress.WAITING),
        ({"phase": "Pending", "containerStatuses": None}, Progress.WAITING),
        ({"phase": "Pending", "containerStatuses": [{}, {"state": None}]}, Progress.WAITING),
        ({"phase": "Pending", "containerStatuses": [_waiting("ContainerCreating")]}, Progress.WAITING),
        ({"phase": "Pending", "containerStatuses": [_waiting(None)]}, Progress.WAITING),
        ({"phase": "Pending", "containerStatuses": [_waiting("CreateContainerError")]}, Progress.FAILED),
        ({"phase": "Pending", "initContainerStatuses": [_waiting("RunContainerError")]}, Progress.FAILED),
        ({"phase": "Pending", "containerStatuses": [_waiting("ImagePullBackOff")]}, Progress.EXCUSED),
        ({"phase": "Pending", "containerStatuses": [_waiting("Whatever")]}, Progress.EXCUSED),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [_RUNNING],
                "containerStatuses": [_waiting("PodInitializing")],
            },
            Progress.STARTED,
        ),
        ({"phase": "Failed", "reason": "OutOfcpu"}, Progress.FAILED),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, Progress.EXCUSED),
        ({"phase": "Failed"}, Progress.EXCUSED),
    ],
)
def test_progress(status: Any, progress: Progress) -> None:
    assert read_start(_json(status)) == Start("u", "a", progress)


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_pods_that_come_with_the_node_are_excused(kind: str) -> None:
    owner = {"kind": kind, "name": "x", "uid": "y", "controller": True}
    read = read_start(_json({"phase": "Failed", "reason": "OutOfcpu"}, ownerReferences=[owner]))
    assert read.progress is Progress.EXCUSED


@pytest.mark.parametrize("status", [[], {"containerStatuses": {}}, {"containerStatuses": [{"state": 1}]}])
def test_hostile_statuses_are_unreadable(status: Any) -> None:
    with pytest.raises(UnreadableObjectError, match="pod that starts"):
        read_start(_json(status))


class _World:
    def __init__(self) -> None:
        self.now = 0.0
        self.cache = Cache(offer_of)
        self.cache.apply_node(node("a").build())
        self.pod = pod("p").on("a").build()
        self.uid = self.pod.uid
        self.watch = StartWatch(self.cache, lambda: self.now)

    def see(self, progress: Progress = Progress.WAITING) -> None:
        self.watch.see(Start(self.uid, "a", progress))

    def later(self, seconds: float) -> list[Outcome]:
        self.now += seconds
        return list(self.watch.take())


@pytest.fixture
def world() -> _World:
    return _World()


def test_a_start_takes_from_the_binding_to_the_end_of_pending(world: _World) -> None:
    world.cache.apply_pod(world.pod)
    world.see()
    assert world.later(3) == []
    world.watch.leave(world.uid)
    assert world.later(4) == []
    assert world.later(1) == [Outcome("a", failed=False, seconds=3)]
    assert world.later(1000) == []


def test_a_pod_that_is_not_admitted_failed_whichever_watch_tells_first(world: _World) -> None:
    world.cache.apply_pod(world.pod)  # as yet
    world.watch.reject(Start(world.uid, "a", Progress.FAILED))
    world.see()
    world.watch.leave(world.uid)
    assert world.later(5) == [Outcome("a", failed=True)]


@pytest.mark.parametrize(
    "forget", [lambda watch, uid: watch.forget_rejected(uid), lambda watch, _: watch.retain_rejected([])]
)
def test_failed_pods_that_are_deleted_are_let_go(
    world: _World, forget: Callable[[StartWatch, str], None]
) -> None:
    world.cache.apply_pod(world.pod)
    world.watch.reject(Start(world.uid, "a", Progress.FAILED))
    forget(world.watch, world.uid)
    world.see()
    world.watch.leave(world.uid)
    assert world.later(5) == [Outcome("a", failed=False)]


def test_a_pod_that_is_deleted_meanwhile_tells_nothing(world: _World) -> None:
    world.see()
    world.watch.leave(world.uid)
    assert world.later(5) == []


def test_failed_pods_of_before_tell_nothing(world: _World) -> None:
    world.watch.reject(Start("other", "a", Progress.FAILED))
    assert world.later(1000) == []


@pytest.mark.parametrize(
    ("progress", "outcomes"),
    [
        (Progress.FAILED, [Outcome("a", failed=True)]),
        (Progress.STARTED, [Outcome("a", failed=False, seconds=2)]),
        (Progress.EXCUSED, []),
    ],
)
def test_a_pending_pod_counts_once(world: _World, progress: Progress, outcomes: list[Outcome]) -> None:
    world.cache.apply_pod(world.pod)
    world.see()
    world.now += 2
    world.see(progress)
    world.see(Progress.FAILED)
    assert world.later(0) == outcomes
    assert world.later(1000) == []
    world.watch.leave(world.uid)
    assert world.later(1000) == []


def test_ten_minutes_without_a_start_are_a_failure(world: _World) -> None:
    world.see()
    assert world.later(599) == []
    assert world.later(1) == [Outcome("a", failed=True)]
    assert world.later(1000) == []


def test_what_a_new_list_lacks_nobody_saw_leave(world: _World) -> None:
    world.cache.apply_pod(world.pod)
    world.see()
    world.watch.retain([])
    world.watch.leave(world.uid)
    assert world.later(1000) == []
