"""What kube-scheduler has accepted is not rejected because our watch is behind its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.filters.reserved_room import ReservedRoom
from scoring.in_tree import with_in_tree
from scoring.policy import Policy
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tests.extender.served import THREE, service
from tests.scoring.drawn import UNHURRIED
from tradewind.cluster.cache import Cache

_ZONE = "topology.kubernetes.io/zone"
_AS_KUBE_SCHEDULER = with_in_tree(Policy((), ()))


@pytest.fixture(autouse=True, scope="module")
def _no_wait() -> Iterator[None]:
    """No watch will bring the nodes that are missing."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("extender.lookup._WAIT_SECONDS", 0.0)
        yield


@dataclass(frozen=True)
class Event:
    node: NodeBuilder | None = None
    pod: PodBuilder | None = None
    deleted: bool = False

    def apply(self, cache: Cache) -> None:
        if self.node is not None:
            cache.apply_node(self.node.build())
        elif self.pod is not None and self.deleted:
            cache.remove_pod(self.pod.build().uid)
        elif self.pod is not None:
            cache.apply_pod(self.pod.build())


def _waiting(cpu: int, avoided: str | None, sought: str | None) -> PodBuilder:
    built = pod("wanted").requests(cpu=cpu).label("app", "web")
    built = built if avoided is None else built.anti_affinity(_ZONE, {"app": avoided})
    return built if sought is None else built.affinity(_ZONE, {"app": sought})


_names = st.sampled_from(["a", "b", "c"])
_nodes = st.builds(
    lambda name, cpu, zone: Event(node=node(name).cpu(cpu).label(_ZONE, zone)),
    _names,
    st.integers(1, 4),
    st.sampled_from(["z1", "z2"]),
)
_placed = st.builds(
    lambda name, cpu, place, app: pod(f"p{name}").requests(cpu=cpu).label("app", app).on(place),
    st.integers(0, 4),
    st.integers(1, 3),
    _names,
    st.sampled_from(["web", "db"]),
)
_pods = st.builds(lambda built, deleted: Event(pod=built, deleted=deleted), _placed, st.booleans())
_wanted = st.builds(
    _waiting,
    st.integers(1, 3),
    st.sampled_from([None, "web", "db"]),
    st.sampled_from([None, "web", "db"]),
)


@given(st.lists(_nodes | _pods, max_size=12), st.integers(0, 12), _wanted)
@settings(UNHURRIED, max_examples=200)
def test_what_kube_scheduler_passed_is_kept_however_far_behind_our_watch_is(
    events: Sequence[Event], behind: int, wanted: PodBuilder
) -> None:
    theirs, served = Cache(offer_of), service(recheck=False)
    for number, event in enumerate(events):
        event.apply(theirs)
        if number < len(events) - behind:
            event.apply(served.cluster.cache)
    nodes = theirs.snapshot().nodes
    verdict = _AS_KUBE_SCHEDULER.filter(wanted.build(), nodes)
    passed = sorted(name for name, good in zip(nodes.names, verdict.feasible.tolist(), strict=True) if good)
    assert served.filter(wanted, passed)["NodeNames"] == passed


def test_a_deletion_that_our_watch_has_not_brought_rejects_nothing() -> None:
    served = service(*THREE, recheck=False)
    served.cluster.cache.apply_pod(pod("gone").requests(cpu="4").on("cheap").build())
    assert served.filter(pod("next").requests(cpu="4"), ["cheap"])["NodeNames"] == ["cheap"]


def _gang_of_two() -> tuple[PodBuilder, PodBuilder]:
    member = pod("x").requests(cpu="3").annotation("tradewind.dev/gang", "ring")
    member = member.annotation("tradewind.dev/gang-min", "2")
    return member, member.field("metadata", "name", value="y").uid("y")


def test_room_reserved_for_a_gang_is_refused_to_others_while_they_have_another_node() -> None:
    served = service(node("a"), node("b"), node("c").cpu("2"), recheck=False)
    first, second = _gang_of_two()
    for each in (first, second):
        served.cluster.cache.apply_pod(each.build())
    (sent,) = served.filter(first, ["a", "b"])["NodeNames"]
    kept = "b" if sent == "a" else "a"
    plain = pod("plain").requests(cpu="2")
    answer = served.filter(plain, [kept, "c"])
    assert answer["NodeNames"] == ["c"]
    assert answer["FailedAndUnresolvableNodes"] == {kept: ReservedRoom.reason}
    assert served.filter(plain, [kept])["NodeNames"] == [kept]  # no event would tell when that ends
    assert served.filter(second, ["a", "b"])["NodeNames"] == [kept]


@pytest.mark.parametrize("cpu", ["1", "2"])
def test_room_that_is_not_there_without_the_reservation_is_left_to_kube_scheduler(cpu: str) -> None:
    """It may know of a pod that has left; only what the reservation itself takes is ours to refuse."""
    served = service(node("a"), node("b"), node("c").cpu("2"), recheck=False)
    first, second = _gang_of_two()
    for each in (first, second):
        served.cluster.cache.apply_pod(each.build())
    (sent,) = served.filter(first, ["a", "b"])["NodeNames"]
    kept = "b" if sent == "a" else "a"
    served.cluster.cache.apply_pod(pod("leaving").requests(cpu="4").on(kept).build())
    assert served.filter(pod("plain").requests(cpu=cpu), [kept, "c"])["NodeNames"] == [kept, "c"]


def test_a_node_that_comes_while_pods_are_listed_is_known() -> None:
    served = service(*THREE)
    cache = served.cluster.cache
    with cache.batch():
        cache.apply_node(node("new").price(0.01).build())
        wanted = pod("web").requests(cpu="2")
        assert served.filter(wanted, ["new"])["NodeNames"] == ["new"]
        assert served.scores(wanted, ["new", "dear"])["new"] == 10
    assert served.count("unknown_nodes_total") == 0
