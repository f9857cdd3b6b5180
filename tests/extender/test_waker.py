"""A pod that our rules left without a node is woken when they would accept one."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from extender.protocol import Request, decode
from extender.waker import Waker
from tests.builders import PodBuilder, node, pod
from tests.extender.served import Service, request, service
from tests.planner.cases import copies
from tradewind.cluster import hints
from tradewind.planner.plan_annotation import ANNOTATION as PLAN
from tradewind.planner.plan_annotation import PlanAnnotation

_NODES = (node("a").cpu("4"), node("b").cpu("4"))
_LONE = pod("lone").annotation(hints.ONE_PER_NODE, "true").label("app", "x")


_NOW = 1_800_000_000.0
_CREATED = datetime.fromtimestamp(_NOW, UTC).isoformat()


def _pair(gang: str) -> list[PodBuilder]:
    start = pod(gang).requests(cpu="4").annotation("tradewind.dev/gang", gang)
    return copies(start.annotation(hints.GANG_MIN, "2"), gang, 2)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _reject(served: Service, wanted: PodBuilder) -> None:
    assert served.filter(wanted, ["a"])["NodeNames"] == []


def test_a_rejection_that_ends_by_what_our_watch_brings_wakes_the_pod() -> None:
    served = service(*_NODES, recheck=False)
    cache = served.cluster.cache
    there = _LONE.uid("there").field("metadata", "name", value="there").on("a")
    cache.apply_pod(there.build())
    cache.apply_pod(_LONE.build())
    _reject(served, _LONE)
    assert not served.waker.look()
    cache.remove_pod(there.build().uid)
    assert served.waker.look()
    assert not served.waker.look()  # once


def test_a_promise_that_expires_wakes_the_pods_it_rejected() -> None:
    served = service(*_NODES, recheck=False)
    clock = Clock()
    served.cluster.cache.assumed._clock = clock
    first = _LONE.uid("first").field("metadata", "name", value="first")
    assert served.filter(first, ["a"])["NodeNames"] == ["a"]
    _reject(served, _LONE)
    clock.now = 9
    assert not served.waker.look()
    clock.now = 10
    assert served.waker.look()


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        pytest.param(
            pod("p")
            .annotation("tradewind.dev/gang", "ring")
            .field("metadata", "creationTimestamp", value=_CREATED),
            3.0,
            id="the newest of a gang without a size came a moment ago",
        ),
        pytest.param(
            pod("p").annotation(PLAN, PlanAnnotation("b", _NOW + 60, strict=True).text()),
            60.0,
            id="a plan leaves only its node",
        ),
    ],
)
def test_a_rejection_that_ends_by_the_time_of_day_wakes_the_pod(
    wanted: PodBuilder, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: _NOW)
    served = service(*_NODES, recheck=False)
    served.cluster.cache.apply_pod(wanted.build())
    _reject(served, wanted)
    monkeypatch.setattr("time.time", lambda: _NOW + seconds - 1)
    assert not served.waker.look()
    monkeypatch.setattr("time.time", lambda: _NOW + seconds)
    assert served.waker.look()


def test_the_end_of_what_is_reserved_for_a_gang_wakes_another_gang() -> None:
    served, clock = service(*_NODES, recheck=False), Clock()
    served.cluster.cache.assumed._clock = clock
    for gang in ("first", "second"):
        for each in _pair(gang):
            served.cluster.cache.apply_pod(each.build())
    assert served.filter(_pair("first")[0], ["a", "b"])["NodeNames"]
    assert served.filter(_pair("second")[0], ["a", "b"])["NodeNames"] == []
    clock.now = 29
    assert not served.waker.look()
    clock.now = 30
    assert served.waker.look()


def test_a_node_that_comes_late_wakes_a_pod_with_rules() -> None:
    served = service(*_NODES, recheck=False)
    wanted = pod("ssd").annotation(hints.NODE_LABELS, "disk=ssd")
    assert served.filter(wanted, ["new"])["NodeNames"] == []
    served.cluster.cache.apply_node(node("new").label("disk", "ssd").build())
    assert served.waker.look()


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(lambda served: served.cluster.cache.apply_pod(_LONE.on("b").build()), id="it was bound"),
        pytest.param(
            lambda served: served.cluster.cache.apply_pod(_LONE.deleting().build()), id="it is deleted"
        ),
        pytest.param(lambda served: setattr(served.cluster, "stale", "silent"), id="our state is stale"),
    ],
)
def test_no_pod_is_woken_for_one_that_no_longer_waits(gone: Callable[[Service], None]) -> None:
    served = service(*_NODES, recheck=False)
    cache = served.cluster.cache
    there = _LONE.uid("there").field("metadata", "name", value="there").on("a")
    cache.apply_pod(there.build())
    _reject(served, _LONE)
    cache.remove_pod(there.build().uid)
    gone(served)
    assert not served.waker.look()


def test_a_pod_that_was_asked_about_again_and_has_a_node_is_forgotten() -> None:
    served = service(*_NODES, recheck=False)
    there = _LONE.uid("there").field("metadata", "name", value="there").on("a")
    served.cluster.cache.apply_pod(there.build())
    _reject(served, _LONE)
    assert served.filter(_LONE, ["a", "b"])["NodeNames"] == ["b"]
    served.cluster.cache.remove_pod(there.build().uid)
    assert not served.waker.look()


def test_what_is_remembered_is_bounded_in_number_and_time() -> None:
    served, clock, asked = service(*_NODES), Clock(), list[str]()

    def still(rejected: Request) -> bool:
        asked.append(rejected.pod.name)
        return False

    waker = Waker(served.cluster, still, clock)
    for number in range(1_000):
        waker.answered(decode(request(pod(f"p-{number}"), ["a"])), placeable=False)
    assert not waker.look()
    assert asked == [f"p-{number}" for number in range(744, 1_000)]
    clock.now = 301
    asked.clear()
    assert not waker.look()
    assert asked == []


def test_looking_at_many_pods_takes_turns() -> None:
    """Each look may last 20 ms, and each pod takes 5 ms here."""
    served, clock, asked = service(*_NODES), Clock(), list[str]()

    def slow(rejected: Request) -> bool:
        clock.now += 0.005
        asked.append(rejected.pod.name)
        return False

    waker = Waker(served.cluster, slow, clock)
    for number in range(8):
        waker.answered(decode(request(pod(f"p-{number}"), ["a"])), placeable=False)
    waker.look()
    first = list(asked)
    waker.look()
    assert 0 < len(first) < 8
    assert asked[len(first)] not in first
