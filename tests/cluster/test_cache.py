"""The cache against a naive one that adds everything up anew."""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.builders import NodeBuilder, PodBuilder, namespace, node, offer_of, pod, requested
from tests.strategies import NODE_NAMES, nodes, plain_pods
from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.placed import group_of
from tradewind.cluster.snapshot import Offer, Snapshot

_NAMES = st.sets(st.sampled_from(NODE_NAMES))


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache(offer_of)
        self.nodes: dict[str, Node] = {}
        self.offers: dict[str, Offer] = {}
        self.pods: dict[str, Pod] = {}
        self.seen: list[tuple[Snapshot, list[bytes]]] = []

    @rule(built=nodes())
    def apply_node(self, built: NodeBuilder) -> None:
        new = built.build()
        if self.nodes.get(new.name) != new:
            self.nodes[new.name] = new
            self.offers[new.name] = offer_of(new)
        self.cache.apply_node(built.build())

    @rule(
        price=st.floats(0, 10) | st.just(math.nan),
        durable=st.booleans(),
        leaving=st.booleans(),
        names=_NAMES,
    )
    def update_offers(self, price: float, durable: bool, leaving: bool, names: set[str]) -> None:
        offer = Offer(price, price, 0.25, durable, leaving)
        table = self.cache.snapshot().nodes.cluster.table
        outdated = node("a").cpu(99).build()
        changed = [each for each in table.nodes if each.name in names]
        column = np.array([[*offer]] * len(changed) + [[77, 77, 0.5, 0, 0]]).T
        self.cache.update_offers([*changed, outdated], column)
        self.offers |= {each.name: offer for each in changed}

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        self.nodes.pop(name, None)
        self.cache.remove_node(name)

    @rule(built=plain_pods())
    def apply_pod(self, built: PodBuilder) -> None:
        self.pods[built.build().uid] = built.build()
        self.cache.apply_pod(built.build())

    @rule(number=st.integers(0, 9))
    def remove_pod(self, number: int) -> None:
        self.pods.pop(f"default/pod-{number}", None)
        self.cache.remove_pod(f"default/pod-{number}")

    @rule(kept=st.sets(st.sampled_from(NODE_NAMES)))
    def retain_nodes(self, kept: set[str]) -> None:
        self.nodes = {name: each for name, each in self.nodes.items() if name in kept}
        self.cache.retain_nodes(kept)

    @rule(kept=st.sets(st.integers(0, 9)))
    def retain_pods(self, kept: set[int]) -> None:
        uids = {f"default/pod-{number}" for number in kept}
        self.pods = {uid: each for uid, each in self.pods.items() if uid in uids}
        self.cache.retain_pods(uids)

    @rule(listed=st.lists(plain_pods(), max_size=3))
    def relist_pods(self, listed: list[PodBuilder]) -> None:
        self.pods = {each.build().uid: each.build() for each in listed}
        with self.cache.batch():
            for each in listed:
                self.cache.apply_pod(each.build())
            self.cache.retain_pods(self.pods)

    @invariant()
    def columns_are_what_a_naive_sum_says(self) -> None:
        snapshot = self.cache.snapshot()
        columns = snapshot.nodes
        assert set(columns.names) == self.nodes.keys()
        assert snapshot.row_of == {name: row for row, name in enumerate(columns.names)}
        for name, row in snapshot.row_of.items():
            allocatable = dict(zip(columns.resource_rows, columns.allocatable[:, row].tolist(), strict=True))
            asked = dict(zip(columns.resource_rows, requested(columns)[:, row].tolist(), strict=True))
            assert _without_zeros(allocatable) == _without_zeros(dict(self.nodes[name].allocatable))
            assert _without_zeros(asked) == _without_zeros(self._requested(name))
            assert _offer(snapshot, row) == repr(self.offers[name])
            assert columns.cluster.durable[row] == self.offers[name].durable
            assert columns.cluster.table.nodes[row] == self.nodes[name]

    @invariant()
    def groups_are_what_a_naive_count_says(self) -> None:
        placed = [each for each in self.pods.values() if each.node_name and not each.finished]
        groups = self.cache.snapshot().nodes.cluster.placed.groups
        assert groups.keys() == {group_of(each) for each in placed}
        for group, counts in groups.items():
            assert counts == Counter(each.node_name for each in placed if group_of(each) == group)

    @invariant()
    def what_was_handed_out_never_changes(self) -> None:
        self.seen.append((self.cache.snapshot(), _bytes_of(self.cache.snapshot())))
        assert all(_bytes_of(snapshot) == before for snapshot, before in self.seen)

    def _requested(self, node_name: str) -> dict[str, int]:
        total: dict[str, int] = {}
        for each in self.pods.values():
            if each.node_name == node_name and not each.finished:
                for resource, value in each.requests.items():
                    total[resource] = total.get(resource, 0) + value
        return total


CacheMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestCacheAgainstNaiveSum = CacheMachine.TestCase


def _offer(snapshot: Snapshot, row: int) -> str:
    """As text, in which NaN equals NaN."""
    nodes = snapshot.nodes
    price, median, rate = (float(c[row]) for c in (nodes.price, nodes.median_price, nodes.interruption_rate))
    return repr(Offer(price, median, rate, bool(nodes.durable[row]), bool(nodes.cluster.leaving[row])))


def test_new_offers_leave_the_rest_of_the_snapshot_as_it_is() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").price(1).build())
    before = cache.snapshot()
    known = before.nodes.cluster.table.nodes[0]
    offers = np.array([[2.0], [2.0], [0.5], [0.0], [0.0]])
    assert cache.update_offers([known], offers) == 1
    after = cache.snapshot()
    assert after.generation > before.generation
    assert after.nodes.free is before.nodes.free
    assert after.nodes.allocatable is before.nodes.allocatable
    assert after.nodes.cluster.table is before.nodes.cluster.table
    assert (before.nodes.price[0], after.nodes.price[0]) == (1.0, 2.0)
    assert cache.update_offers([known], offers) == 0
    assert cache.snapshot() is after


@pytest.mark.parametrize("changed", [[0.0, 0.0], [1.0, 1.0]], ids=["no longer durable", "leaving"])
def test_only_offers_that_change_more_than_money_may_give_a_pod_a_place(changed: list[float]) -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").price(1).build())
    nodes, before = cache.snapshot().nodes.cluster.table.nodes, cache.wait_for_work(WorkCounter(), 0)
    cache.update_offers(nodes, np.array([[2.0], [2.0], [0.5], [1.0], [0.0]]))
    assert cache.wait_for_work(before, 0) == before
    cache.update_offers(nodes, np.array([[2.0], [2.0], [0.5], *([each] for each in changed)]))
    assert cache.wait_for_work(before, 0).openings == before.openings + 1


def test_resources_are_the_rows_and_nodes_the_columns() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").cpu(4).memory("1Gi").pods(10).price(0.25).build())
    cache.apply_node(node("b").cpu(8).memory("2Gi").pods(20).build())
    cache.apply_pod(pod("x").requests(cpu="500m").on("b").build())
    columns = cache.snapshot().nodes
    assert list(columns.names) == ["a", "b"]
    assert list(columns.resource_rows) == ["cpu", "memory", "ephemeral-storage", "pods"]
    assert columns.allocatable.tolist() == [[4000, 8000], [2**30, 2**31], [0, 0], [10, 20]]
    assert requested(columns).tolist() == [[0, 500], [0, 0], [0, 0], [0, 1]]
    assert columns.free.tolist() == [[4000, 7500], [2**30, 2**31], [0, 0], [10, 19]]
    assert columns.price[0] == 0.25
    assert np.isnan(columns.price[1])


def test_more_nodes_than_there_was_room_for() -> None:
    cache = Cache(offer_of)
    for number in range(500):
        cache.apply_node(node(f"n-{number}").cpu(number).price(number).build())
    columns = cache.snapshot().nodes
    assert columns.allocatable[0].tolist() == [number * 1000 for number in range(500)]
    assert columns.price.tolist() == list(range(500))


@pytest.mark.parametrize("order", [*permutations(["pod", "a", "b"])], ids=" ".join)
def test_the_order_of_pods_and_nodes_has_no_meaning(order: Sequence[str]) -> None:
    """Also where the pod's node has none of what it asks for, and another has."""
    cache, gpu = Cache(offer_of), "nvidia.com/gpu"
    amounts = {"cpu": 1000, gpu: 2, "limits.cpu": 2000, f"limits.{gpu}": 2}
    for each in order:
        if each == "pod":
            cache.apply_pod(pod("x").requests({gpu: 2}, cpu=1).limits({gpu: 2}, cpu=2).on("a").build())
        else:
            cache.apply_node((node(each).resource(gpu, 4) if each == "b" else node(each)).build())
    snapshot = cache.snapshot()
    for resource, amount in amounts.items():
        counted = requested(snapshot.nodes)[snapshot.nodes.resource_rows[resource]]
        assert counted[[snapshot.row_of["a"], snapshot.row_of["b"]]].tolist() == [amount, 0]


def test_resources_that_no_node_has_take_no_room() -> None:
    """A pod may name thousands of them, and the next pod others."""
    cache = Cache(offer_of)
    cache.apply_node(node("a").cpu(4).build())
    there = pod("there").limits(cpu=1).on("a").build()
    cache.apply_pod(there)
    before = dict(cache.snapshot().nodes.resource_rows)
    names = {f"example.com/{number}": 1 for number in range(1000)}
    odd = pod("odd").requests(names).limits(names).on("a").build()
    cache.apply_pod(odd)
    snapshot = cache.snapshot()
    assert snapshot.nodes.resource_rows == before
    assert snapshot.with_pods([odd]).nodes.resource_rows == before


def test_columns_are_read_only() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").build())
    columns = cache.snapshot().nodes
    taken = columns.take(np.array([0]))
    for each in (columns, taken):
        for column in (each.allocatable, each.price, each.free):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0


def test_a_snapshot_is_made_only_when_something_changed() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").build())
    before = cache.snapshot()
    cache.apply_node(node("a").build())
    cache.remove_node("b")
    cache.remove_pod("x")
    cache.retain_nodes(["a"])
    with cache.batch():
        cache.apply_node(node("a").build())
    assert cache.snapshot() is before
    cache.apply_namespace(namespace("shop").build())
    assert cache.snapshot().generation > before.generation


def test_readiness_alone_makes_no_new_snapshot() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").build())
    web = pod("web").owner("ReplicaSet", "web", "web").requests(cpu="1").on("a")
    cache.apply_pod(web.ready("False").build())
    cache.changed_replicas()
    snapshot, work = cache.snapshot(), cache.work()
    cache.apply_pod(web.build())
    assert cache.snapshot() is snapshot
    assert cache.work() == work
    _, replicas = cache.changed_replicas()
    for pods in (cache.all_pods(), cache.pods_on("a"), *replicas.values()):
        assert [each.ready for each in pods] == [True]
    assert replicas
    cache.apply_pod(web.ready("False").requests(cpu="2").build())
    assert cache.snapshot() is not snapshot
    cache.remove_pod(web.build().uid)
    assert cache.snapshot().nodes.free[cache.snapshot().nodes.resource_rows["cpu"], 0] == 4_000


def test_a_batch_is_seen_all_at_once_and_readers_do_not_wait_for_it() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").build())
    with cache.batch():
        cache.apply_node(node("b").build())
        cache.remove_node("a")
        assert list(_snapshot_of_another_thread(cache).nodes.names) == ["a"]
    assert list(cache.snapshot().nodes.names) == ["b"]


def test_a_batch_that_fails_shows_what_it_did() -> None:
    cache = Cache(offer_of)
    with suppress(KeyError), cache.batch():
        cache.apply_node(node("a").build())
        raise KeyError
    assert list(cache.snapshot().nodes.names) == ["a"]
    cache.apply_node(node("b").build())
    assert list(cache.snapshot().nodes.names) == ["a", "b"]


def test_a_price_that_cannot_be_told_changes_nothing() -> None:
    def broken(_: Node) -> Offer:
        raise ZeroDivisionError

    cache = Cache(broken)
    with pytest.raises(ZeroDivisionError):
        cache.apply_node(node("a").build())
    assert not cache.snapshot().nodes.names
    assert cache.counts()["nodes"] == 0


def test_who_waits_for_a_node() -> None:
    cache = Cache(offer_of)
    for each in (
        pod("held"),
        pod("new"),
        pod("on").on("a"),
        pod("going").deleting(),
        pod("done").phase("Failed"),
    ):
        cache.apply_pod(each.build())
    assert [each.name for each in cache.waiting()] == ["held", "new"]
    uids = {name: pod(name).build().uid for name in ("held", "new", "on", "never-seen")}
    assert cache.still_waiting(uids.values()) == {uids["held"], uids["new"]}
    cache.apply_pod(pod("new").on("a").build())
    cache.remove_pod(pod("held").build().uid)
    assert cache.waiting() == []


def test_news_are_pods_that_begin_to_wait_and_room_that_opens() -> None:
    cache = Cache(offer_of)
    steps: list[tuple[Callable[[], None], WorkCounter]] = [
        (lambda: cache.apply_node(node("a").build()), WorkCounter(0, 1)),
        (lambda: cache.apply_node(node("a").build()), WorkCounter(0, 1)),
        (lambda: cache.apply_pod(pod("x").build()), WorkCounter(1, 1)),
        (lambda: cache.apply_pod(pod("x").label("k", "v").build()), WorkCounter(1, 1)),
        (lambda: cache.apply_pod(_nominated(pod("x")).build()), WorkCounter(1, 1)),
        (lambda: cache.apply_pod(pod("x").build()), WorkCounter(2, 1)),
        (lambda: cache.apply_pod(_nominated(pod("x")).build()), WorkCounter(2, 1)),
        (lambda: cache.apply_pod(pod("x").on("a").build()), WorkCounter(2, 1)),
        (lambda: cache.remove_pod(pod("x").build().uid), WorkCounter(2, 2)),
        (lambda: cache.remove_node("a"), WorkCounter(2, 3)),
        (cache.notify, WorkCounter(2, 4)),
    ]
    for step, expected in steps:
        step()
        assert cache.wait_for_work(WorkCounter(), 0) == expected


def test_only_news_wake_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(offer_of)
    woken: list[WorkCounter] = []
    monkeypatch.setattr(cache._changed, "notify_all", lambda: woken.append(cache._work))
    cache.apply_node(node("a").build())
    cache.apply_pod(pod("x").build())
    cache.apply_pod(_nominated(pod("x")).build())
    cache.apply_pod(pod("x").on("a").build())
    assert woken == [WorkCounter(0, 1), WorkCounter(1, 1)]
    with cache.batch():
        cache.apply_pod(pod("y").build())
        cache.remove_pod(pod("x").build().uid)
        assert len(woken) == 2
    cache.notify()
    assert woken[2:] == [WorkCounter(2, 2), WorkCounter(2, 3)]


def _nominated(waiting: PodBuilder) -> PodBuilder:
    return waiting.field("status", "nominatedNodeName", value="a")


def test_counts() -> None:
    cache = Cache(offer_of)
    cache.apply_node(node("a").build())
    cache.apply_pod(pod("x").build())
    cache.apply_pod(pod("y").build())
    cache.apply_namespace(namespace("default").build())
    assert cache.counts() == {"nodes": 1, "pods": 2, "namespaces": 1}
    cache.retain_namespaces([])
    cache.retain_pods(["default/y"])
    assert cache.counts() == {"nodes": 1, "pods": 1, "namespaces": 0}


def _snapshot_of_another_thread(cache: Cache) -> Snapshot:
    found: list[Snapshot] = []
    reading = threading.Thread(target=lambda: found.append(cache.snapshot()), daemon=True)
    reading.start()
    reading.join(30)
    assert found, "the reader waits"
    return found[0]


def _without_zeros(amounts: dict[str, int]) -> dict[str, int]:
    return {resource: value for resource, value in amounts.items() if value}


def _bytes_of(snapshot: Snapshot) -> list[bytes]:
    return [column.tobytes() for column in _columns(snapshot)] + [repr(snapshot.row_of).encode()]


def _columns(snapshot: Snapshot) -> Iterator[np.ndarray]:
    yield from (snapshot.nodes.allocatable, snapshot.nodes.free, snapshot.nodes.price)
