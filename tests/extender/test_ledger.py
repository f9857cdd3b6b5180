"""What was promised counts until the watch brings it, and no longer than a while."""

from extender.ledger import Ledger, matters
from tests.builders import PodBuilder, cluster_of, node, pod
from tradewind.cluster import hints
from tradewind.cluster.snapshot import Snapshot

_NODES = [node("a").cpu("2"), node("b").cpu("2")]


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _free(snapshot: Snapshot) -> list[int]:
    free = snapshot.nodes.free_of("cpu")
    assert free is not None
    return [int(amount) for amount in free]


def _member(name: str, gang: str = "ring") -> PodBuilder:
    return pod(name).requests(cpu="1").annotation("tradewind.dev/gang", gang)


def test_an_empty_ledger_costs_a_look_at_it() -> None:
    assert not Ledger()


def test_who_was_sent_counts_as_there_for_all_others() -> None:
    ledger, snapshot, first = Ledger(), cluster_of(_NODES), _member("x").build()
    ledger.send(first, "b")
    assert _free(ledger.view(snapshot, pod("other").build())) == [2000, 1000]
    assert _free(ledger.view(snapshot, first)) == [2000, 2000]  # asked again, it may go anywhere


def test_what_the_watch_brings_is_not_counted_twice() -> None:
    ledger = Ledger()
    ledger.send(_member("x").build(), "b")
    seen = cluster_of(_NODES, [_member("x").on("b")])
    assert ledger.view(seen, pod("other").build()) is seen
    assert not ledger


def test_who_is_never_seen_is_forgotten() -> None:
    clock = _Clock()
    ledger, snapshot = Ledger(clock), cluster_of(_NODES)
    ledger.send(_member("x").build(), "b")
    clock.now = 9
    assert _free(ledger.view(snapshot, pod("other").build())) == [2000, 1000]
    clock.now = 11
    assert ledger.view(snapshot, pod("other").build()) is snapshot


def test_a_gang_sees_its_own_room_and_others_do_not() -> None:
    clock = _Clock()
    ledger, snapshot = Ledger(clock), cluster_of(_NODES)
    first, second = _member("x").build(), _member("y")
    ledger.send(first, "a")
    ledger.reserve(first, [second.on("b").build()])
    assert _free(ledger.view(snapshot, pod("other").build())) == [1000, 1000]
    assert _free(ledger.view(snapshot, _member("z", "another").build())) == [1000, 1000]
    assert _free(ledger.view(snapshot, second.build())) == [1000, 2000]
    clock.now = 31  # it never came: others may have the room
    assert ledger.view(snapshot, pod("other").build()) is snapshot


def test_each_member_that_comes_does_not_make_the_reservation_longer() -> None:
    clock = _Clock()
    ledger, snapshot = Ledger(clock), cluster_of(_NODES)
    rest = [_member("y").on("b").build(), _member("z").on("b").build()]
    ledger.reserve(_member("x").build(), rest)
    clock.now = 29
    ledger.reserve(_member("y").build(), rest[1:])
    assert _free(ledger.view(snapshot, pod("other").build())) == [2000, 1000]
    clock.now = 31
    assert ledger.view(snapshot, pod("other").build()) is snapshot


def test_who_found_no_node_is_dropped() -> None:
    ledger = Ledger()
    ledger.send(_member("x").build(), "b")
    ledger.drop(_member("x").build())
    assert not ledger


def test_whose_place_matters() -> None:
    hostile = cluster_of(_NODES, [pod("x").annotation(hints.CONFLICTS, "noisy-*")]).nodes.cluster.roster
    calm = cluster_of(_NODES).nodes.cluster.roster
    assert not matters(pod("p").build(), calm)
    assert not matters(pod("p").build(), hostile)
    assert matters(pod("noisy-1").build(), hostile)
    assert not matters(pod("p").annotation(hints.NODE, "a").build(), calm)
    for hint in (hints.ONE_PER_NODE, hints.MAX_PER_ZONE, hints.XOR, hints.CONFLICTS):
        assert matters(pod("p").annotation(hint, "1").build(), calm)
    assert matters(_member("x").build(), calm)
    waited_for = cluster_of(_NODES, [pod("x").annotation(hints.BESIDE, "leader")]).nodes.cluster.roster
    assert matters(pod("leader").build(), waited_for)
    assert not matters(pod("p").build(), waited_for)


def test_a_pod_waits_for_the_binding_of_those_it_conflicts_with() -> None:
    clock = _Clock()
    ledger, nodes = Ledger(clock), [node("a"), node("b")]
    roster = cluster_of(nodes).nodes.cluster.roster
    calm = pod("calm").annotation("tradewind.dev/conflicts", "noisy-*").build()
    for name in ("noisy-0", "noisy-1", "other"):
        ledger.pass_on(pod(name).build())
    assert [each.name for each in ledger.missed(calm, roster)] == ["noisy-0", "noisy-1"]
    assert ledger.missed(pod("plain").build(), roster) == []
    brought = cluster_of(nodes, [pod("noisy-0").on("a")]).nodes.cluster.roster
    assert [each.name for each in ledger.missed(calm, brought)] == ["noisy-1"]
    clock.now = 1.5
    assert ledger.missed(calm, roster) == []  # it was not bound, for all that is known


def test_of_many_that_were_passed_on_the_newest_are_remembered() -> None:
    ledger = Ledger()
    for number in range(300):
        ledger.pass_on(pod(f"noisy-{number}").build())
    calm = pod("calm").annotation("tradewind.dev/conflicts", "noisy-*").build()
    missed = ledger.missed(calm, cluster_of(_NODES).nodes.cluster.roster)
    assert [each.name for each in missed] == [f"noisy-{number}" for number in range(44, 300)]
