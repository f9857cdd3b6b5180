"""What is assumed of a pod counts until the watch brings it, the pod is deleted, or it expires."""

import pytest

from tests.builders import PodBuilder, cluster_of, node, offer_of, pod
from tradewind.cluster.assumed import AssumedPod, AssumedPods
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot

_NODES = [node("a").cpu("2"), node("b").cpu("2")]
_OTHER = pod("other").build()
_X = pod("x").requests(cpu="1")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Outcomes(list[tuple[str, str]]):
    """Names of pods with what became of what was assumed of them."""

    def __call__(self, entry: AssumedPod, outcome: str) -> None:
        self.append((entry.pod.name, outcome))


def _free(snapshot: Snapshot) -> list[int]:
    free = snapshot.nodes.free_of("cpu")
    assert free is not None
    return [int(amount) for amount in free]


def _expected(assumed: AssumedPods, snapshot: Snapshot, asking: Pod = _OTHER) -> list[str]:
    return [each.name for each in assumed.expected(snapshot, asking)]


def _member(name: str, gang: str = "ring") -> PodBuilder:
    return pod(name).requests(cpu="1").annotation("tradewind.dev/gang", gang)


def test_nothing_assumed_leaves_the_snapshot_as_it_is() -> None:
    snapshot = cluster_of(_NODES)
    assert AssumedPods().overlay(snapshot, _OTHER) is snapshot


def test_a_hard_entry_counts_for_all_other_pods() -> None:
    assumed, snapshot = AssumedPods(), cluster_of(_NODES)
    assumed.assume(_X.build(), "b", 10, hard=True)
    assert _free(assumed.overlay(snapshot, _OTHER)) == [2000, 1000]
    assert _free(assumed.overlay(snapshot, _X.build())) == [2000, 2000]  # asked again, it may go anywhere


def test_a_soft_entry_is_known_to_scores_alone() -> None:
    assumed, snapshot = AssumedPods(), cluster_of(_NODES)
    assumed.assume(_X.build(), "b", 10, hard=False)
    assert assumed.overlay(snapshot, _OTHER) is snapshot
    assert [each.node_name for each in assumed.expected(snapshot, _OTHER)] == ["b"]
    assert _expected(assumed, snapshot, _X.build()) == []


def test_a_second_node_takes_the_place_of_the_first() -> None:
    assumed, snapshot = AssumedPods(), cluster_of(_NODES)
    assumed.assume(_X.build(), "a", 10, hard=True)
    assumed.assume(_X.build(), "b", 10, hard=True)
    assert _free(assumed.overlay(snapshot, _OTHER)) == [2000, 1000]
    assumed.assume(_X.build(), "b", 10, hard=False)
    assert assumed.overlay(snapshot, _OTHER) is snapshot


@pytest.mark.parametrize("hard", [True, False])
def test_an_entry_expires(hard: bool) -> None:
    clock, outcomes = Clock(), Outcomes()
    assumed, snapshot = AssumedPods(clock), cluster_of(_NODES)
    assumed.observe = outcomes
    assumed.assume(_X.build(), "b", 10, hard=hard)
    clock.now = 9
    assert assumed.promised(snapshot, _OTHER) or _expected(assumed, snapshot) == ["x"]
    clock.now = 10
    assert assumed.overlay(snapshot, _OTHER) is snapshot
    assert _expected(assumed, snapshot) == []
    assert outcomes == [("x", "expired")]


@pytest.mark.parametrize(("found", "outcome"), [("b", "confirmed"), ("a", "elsewhere")])
@pytest.mark.parametrize("hard", [True, False])
def test_the_watch_says_where_the_pod_is(found: str, outcome: str, hard: bool) -> None:
    cache, outcomes = _cache(), Outcomes()
    cache.assumed.observe = outcomes
    cache.assumed.assume(_X.build(), "b", 10, hard=hard)
    cache.apply_pod(_X.on(found).build())
    snapshot = cache.snapshot()
    assert cache.assumed.overlay(snapshot, _OTHER) is snapshot
    assert _expected(cache.assumed, snapshot) == []
    assert outcomes == [("x", outcome)]


def test_a_snapshot_from_before_the_binding_still_counts_the_pod() -> None:
    """While a list is applied, readers keep the snapshot of before it."""
    cache = _cache()
    cache.assumed.assume(_X.build(), "b", 10, hard=True)
    with cache.batch():
        cache.apply_pod(_X.on("b").build())
        assert _free(cache.assumed.overlay(cache.snapshot(), _OTHER)) == [2000, 1000]
    assert _free(cache.assumed.overlay(cache.snapshot(), _OTHER)) == [2000, 1000]
    assert cache.assumed.overlay(cache.snapshot(), _OTHER) is cache.snapshot()


@pytest.mark.parametrize("known", [True, False], ids=["seen before", "never seen"])
def test_a_deleted_pod_gives_its_room_back_at_once(known: bool) -> None:
    cache, outcomes = _cache(), Outcomes()
    cache.assumed.observe = outcomes
    if known:
        cache.apply_pod(_X.build())
    cache.assumed.assume(_X.build(), "b", 10, hard=True)
    cache.remove_pod(_X.build().uid)
    assert cache.assumed.overlay(cache.snapshot(), _OTHER) is cache.snapshot()
    assert outcomes == [("x", "deleted")]


def test_a_pod_that_is_being_deleted_gives_its_room_back() -> None:
    cache = _cache()
    cache.assumed.assume(_X.build(), "b", 10, hard=True)
    cache.apply_pod(_X.deleting().build())
    assert cache.assumed.overlay(cache.snapshot(), _OTHER) is cache.snapshot()


def test_room_reserved_for_a_gang_is_taken_for_others_and_free_for_its_members() -> None:
    assumed, snapshot = AssumedPods(), cluster_of(_NODES)
    assumed.assume(_member("x").build(), "a", 10, hard=True)
    assumed.reserve("default/ring", [_member("y").on("b").build()], 30)
    assert _free(assumed.overlay(snapshot, _OTHER)) == [1000, 1000]
    assert _free(assumed.overlay(snapshot, _member("z", "another").build())) == [1000, 1000]
    assert _free(assumed.overlay(snapshot, _member("y").build())) == [1000, 2000]
    assert _free(assumed.overlay(snapshot, _member("y").namespace("else").build())) == [1000, 1000]


def test_a_reservation_that_is_made_again_lasts_no_longer() -> None:
    clock = Clock()
    assumed, snapshot = AssumedPods(clock), cluster_of(_NODES)
    rest = [_member("y").on("b").build(), _member("z").on("b").build()]
    assumed.reserve("default/ring", rest, 30)
    clock.now = 29
    assumed.reserve("default/ring", rest[1:], 30)
    assert _free(assumed.overlay(snapshot, _OTHER)) == [2000, 1000]
    clock.now = 30
    assert assumed.overlay(snapshot, _OTHER) is snapshot
    assumed.reserve("default/ring", rest, 30)
    clock.now = 59
    assert _free(assumed.overlay(snapshot, _OTHER)) == [2000, 0]


def test_of_many_entries_the_newest_are_kept() -> None:
    assumed, snapshot = AssumedPods(), cluster_of([node("a").cpu("9000")])
    for number in range(3_000):
        assumed.assume(pod(f"soft-{number}").build(), "a", 10, hard=False)
        assumed.assume(pod(f"hard-{number}").build(), "a", 10, hard=True)
    assert _expected(assumed, snapshot) == [f"soft-{number}" for number in range(3_000 - 512, 3_000)]
    assert len(assumed.promised(snapshot, _OTHER)) == 2048


def test_limits_of_an_assumed_pod_count_where_no_pod_has_limits_yet() -> None:
    assumed, snapshot = AssumedPods(), cluster_of(_NODES)
    assumed.assume(_X.limits(memory="2Gi").build(), "b", 10, hard=True)
    given = assumed.overlay(snapshot, _OTHER).nodes.free_of("limits.memory")
    assert given is not None
    assert given.tolist() == [0, -2 * 2**30]
    assert snapshot.nodes.free_of("limits.memory") is None


def _cache() -> Cache:
    cache = Cache(offer_of)
    for each in _NODES:
        cache.apply_node(each.build())
    return cache
