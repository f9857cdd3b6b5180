"""Members of gangs that have finished, and what they cost."""

import pytest

from tests.builders import PodBuilder, offer_of, pod
from tradewind.cluster import finished
from tradewind.cluster.cache import Cache
from tradewind.cluster.finished import FinishedPod, finished_pod
from tradewind.cluster.names import MAX_POD_ANNOTATION

_GANG = "tradewind.dev/gang"


def _member(name: str, gang: str = "ring", job: str = "1") -> PodBuilder:
    return pod(name).annotation(_GANG, gang).owner("Job", "j", job)


def _done(name: str, gang: str = "ring", job: str = "1") -> PodBuilder:
    return _member(name, gang, job).phase("Succeeded").on("a")


def _cache(*pods: PodBuilder) -> Cache:
    cache = Cache(offer_of)
    for each in pods:
        cache.apply_finished(finished_pod(each.build()))
    return cache


def _has_started(cache: Cache, gang: str = "ring", namespace: str = "default", job: str = "1") -> bool:
    later = _member("later", gang, job).namespace(namespace).build()
    return cache.snapshot().nodes.cluster.roster.has_started(later)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(_done("x"), True, id="succeeded"),
        pytest.param(_done("x").phase("Failed"), True, id="failed"),
        pytest.param(_done("x").deleting(), False, id="deleted"),
        pytest.param(_member("x").phase("Failed"), False, id="never on a node"),
        pytest.param(_done("x").namespace("shop"), False, id="of another namespace"),
        pytest.param(_done("x", job="2"), False, id="of another run"),
        pytest.param(_done("x", gang="line"), False, id="of another gang"),
        pytest.param(pod("x").phase("Succeeded").on("a"), False, id="of no gang"),
    ],
)
def test_what_tells_that_a_gang_was_placed(one: PodBuilder, expected: bool) -> None:
    assert _has_started(_cache(one)) == expected


def test_it_tells_as_long_as_one_is_there() -> None:
    cache = _cache(_done("x"), _done("x"), _done("y"))
    for name in ("x", "x", "z"):
        cache.remove_finished(f"default/{name}")
        assert _has_started(cache)
    cache.remove_finished("default/y")
    assert not _has_started(cache)


def test_the_end_of_a_pod_that_was_watched_does_not_take_what_its_finish_tells() -> None:
    """The watch of pods that have not finished brings it as deleted, before or after the other watch."""
    cache = _cache(_done("x"))
    cache.apply_pod(_member("x").on("a").build())
    cache.remove_pod("default/x")
    assert _has_started(cache)


def test_snapshots_stay_as_they_were() -> None:
    cache = _cache()
    before = cache.snapshot().nodes.cluster.roster
    cache.apply_finished(finished_pod(_done("x").build()))
    after = cache.snapshot().nodes.cluster.roster
    cache.remove_finished("default/x")
    later = _member("later").build()
    assert (before.has_started(later), after.has_started(later), _has_started(cache)) == (False, True, False)


def test_a_namespace_keeps_the_newest_and_takes_nothing_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finished, "MAX_PER_NAMESPACE", 2)
    cache = _cache(_done("x").namespace("shop"), *(_done(f"x{i}", gang=f"g{i}") for i in range(4)))
    assert [_has_started(cache, f"g{i}") for i in range(4)] == [False, False, True, True]
    assert _has_started(cache, namespace="shop")


def test_what_is_kept_of_a_pod_does_not_grow_with_what_its_author_wrote() -> None:
    long = "g" * 200_000
    longest = "g" * MAX_POD_ANNOTATION  # that is read at all
    kept = finished_pod(_done("x", gang=longest, job=long).build())
    assert kept == FinishedPod("default/x", "default", kept.run)
    assert len(kept.run) == 16
    assert finished_pod(pod("x").label("app", long).phase("Failed").on("a").build()) == FinishedPod(
        "default/x"
    )
