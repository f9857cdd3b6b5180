"""The shadow cluster against a recount from the pods and nodes that it was told of."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, Pod
from tradewind.config import document
from tradewind.shadow.cluster import Compared, ShadowCluster, ShadowPolicies, Side, real_side

_POLICIES = document.parse(
    "{apiVersion: tradewind.dev/v1alpha1, kind: TradewindConfiguration, preset: cost}"
).policies()
_OURS = ("default-scheduler",)


class World:
    """Reality, and a shadow that follows it."""

    def __init__(self, *nodes: NodeBuilder, remembered: dict[str, str] | None = None) -> None:
        self.cache = Cache(offer_of)
        for each in nodes:
            self.cache.apply_node(each.build())
        self.shadow = ShadowCluster(ShadowPolicies(_POLICIES.of, lambda: _OURS), remembered)

    def follow(self) -> tuple[Side, Side]:
        self.shadow.follow(*self.cache.state())
        return self.shadow.sides()

    def bind(self, *pods: PodBuilder) -> tuple[Side, Side]:
        for each in pods:
            self.cache.apply_pod(each.build())
        return self.follow()

    def end(self, *uids: str) -> tuple[Side, Side]:
        for uid in uids:
            self.cache.remove_pod(uid)
        return self.follow()


def _node(name: str, price: float, cpu: int = 4) -> NodeBuilder:
    return node(name).cpu(cpu).memory("64Gi").pods(110).price(price)


def _pod(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return pod(name).requests(cpu=cpu, memory="1Gi").uid(name).on(on)


def _owned(builder: PodBuilder, kind: str) -> PodBuilder:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}
    return builder.field("metadata", "ownerReferences", value=[owner])


def test_a_new_pod_stands_where_tradewind_would_have_put_it() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    assert world.follow() == (Side(), Side())
    real, shadow = world.bind(_pod("a", "dear"))
    assert (real.dollars, shadow.dollars) == (1.0, 0.1)
    assert world.shadow.placements() == {"a": "cheap"}
    assert world.shadow.compared == Compared(other=1)


def test_ten_pods_are_not_placed_where_four_fit() -> None:
    world = World(_node("dear", 8.0, cpu=64), _node("cheap", 0.1, cpu=4))
    world.follow()
    real, shadow = world.bind(*(_pod(f"p{number}", "dear") for number in range(10)))
    assert Counter(world.shadow.placements().values()) == {"cheap": 4}
    assert real.dollars == 8.0
    assert shadow.dollars == pytest.approx(8.1), "one more node in use, and it says so"


def test_what_was_there_before_saves_nothing() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    real, shadow = world.bind(_pod("old", "dear"))
    assert real == shadow
    assert world.shadow.compared == Compared()


def test_a_pod_leaves_when_the_real_one_does_and_makes_room() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1, cpu=1))
    world.follow()
    world.bind(_pod("a", "dear"))
    world.bind(_pod("b", "dear"))
    assert world.shadow.placements() == {"a": "cheap"}
    world.end("a")
    assert world.shadow.placements() == {}, "b is where it is: nobody moves a running pod here"
    world.bind(_pod("c", "dear"))
    assert world.shadow.placements() == {"c": "cheap"}


def test_a_node_with_terminating_pods_alone_is_in_use_on_neither_side() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    world.follow()
    world.bind(_pod("a", "dear"), _pod("b", "dear"))
    assert world.bind(_pod("a", "dear").deleting(), _pod("b", "dear").deleting()) == (Side(), Side())
    assert real_side(*world.cache.state()) == Side()
    assert set(world.shadow.placements()) == {"a", "b"}, "they take room until they are gone"


def test_a_pod_without_a_place_saves_nothing_until_it_finds_one() -> None:
    """It asks Tradewind, and nobody else, for an ssd."""
    world = World(_node("plain", 1.0))
    world.follow()
    real, shadow = world.bind(_pod("a", "plain").annotation("tradewind.dev/disk-type", "ssd"))
    assert world.shadow.waiting == {"a"}
    assert world.shadow.compared == Compared(nowhere=1)
    assert (real.dollars, shadow.dollars) == (1.0, 1.0)
    world.cache.apply_node(_node("ssd", 0.1).label("tradewind.dev/disk-type", "ssd").build())
    _, shadow = world.follow()
    assert world.shadow.placements() == {"a": "ssd"}
    assert shadow.dollars == 0.1
    assert world.shadow.compared == Compared(nowhere=1), "a pod is compared once"


def test_a_daemons_pod_goes_before_a_choice_of_ours() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1, cpu=1))
    world.follow()
    world.bind(_pod("a", "dear"))
    assert world.shadow.placements() == {"a": "cheap"}
    world.bind(_owned(_pod("daemon", "cheap", cpu="500m"), "DaemonSet"))
    assert world.shadow.placements() == {}
    assert not world.shadow.waiting


def test_pods_of_other_schedulers_and_daemons_stay_where_they_are() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    world.follow()
    other = _pod("other", "dear").field("spec", "schedulerName", value="volcano")
    real, shadow = world.bind(other, _owned(_pod("daemon", "dear"), "DaemonSet"))
    assert world.shadow.placements() == {}
    assert real == shadow
    assert real.pods == 1, "a daemon's pod makes no use of a node"


def test_a_node_that_reality_gives_back_stays_while_it_is_used_here() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    world.follow()
    world.bind(_pod("a", "dear"))
    world.cache.remove_node("cheap")
    _, shadow = world.follow()
    assert shadow.dollars == 0.1
    world.bind(_pod("b", "dear"))
    assert world.shadow.placements() == {"a": "cheap"}, "it takes no new pods"
    world.end("a")
    assert "cheap" not in world.shadow.snapshot.row_of


def test_a_node_that_is_taken_away_in_use_is_taken_away_here() -> None:
    world = World(_node("dear", 1.0), _node("cheap", 0.1))
    world.bind(_pod("old", "cheap"))
    world.bind(_pod("a", "dear"))
    assert world.shadow.placements() == {"a": "cheap"}
    world.cache.remove_node("cheap")
    real, shadow = world.follow()
    assert (real.dollars, shadow.dollars) == (1.0, 1.0)


def test_after_a_restart_pods_stand_where_they_stood() -> None:
    world = World(
        _node("dear", 1.0), _node("cheap", 0.1), remembered={"a": "cheap", "gone": "cheap", "b": "?"}
    )
    world.bind(_pod("a", "dear"), _pod("b", "dear"))
    assert world.shadow.placements() == {"a": "cheap"}
    assert world.shadow.compared == Compared()


def test_what_was_remembered_never_overfills_a_node() -> None:
    world = World(
        _node("dear", 1.0), _node("cheap", 0.1, cpu=1), remembered=dict.fromkeys(["a", "b", "c"], "cheap")
    )
    world.bind(*(_pod(name, "dear") for name in "abc"))
    assert Counter(world.shadow.placements().values()) == {"cheap": 1}


def test_no_price_is_no_money() -> None:
    world = World(node("a").cpu(4).memory("8Gi").pods(110), _node("b", 0.5))
    real, _ = world.bind(_pod("one", "a"), _pod("two", "b"))
    assert real == Side(nodes=2, dollars=0.5, unpriced=1, pods=2, interruptions=real.interruptions)


_KINDS = {"a": _node("a", 1, 8), "b": _node("b", 0.5, 4), "c": _node("c", 0.2, 4), "d": _node("d", 0.1, 2)}
_NAMES = tuple(_KINDS)
_EVENTS = st.one_of(
    st.tuples(st.just("bind"), st.sampled_from(_NAMES), st.sampled_from(["500m", "1", "2", "3"])),
    st.tuples(st.just("daemon"), st.sampled_from(_NAMES), st.just("250m")),
    st.tuples(st.just("end"), st.integers(0, 30), st.just("")),
    st.tuples(st.just("delete"), st.integers(0, 30), st.just("")),
    st.tuples(st.just("lose"), st.sampled_from(_NAMES), st.just("")),
    st.tuples(st.just("come"), st.sampled_from(_NAMES), st.just("")),
    st.tuples(st.just("price"), st.sampled_from(_NAMES), st.sampled_from(["0.01", "7"])),
)


@given(st.lists(st.lists(_EVENTS, max_size=4), max_size=12))
def test_whatever_happens(rounds: list[list[tuple[str, str | int, str]]]) -> None:
    world = World(*_KINDS.values())
    world.follow()
    number = 0
    for events in rounds:
        for what, of, size in events:
            number += 1
            _happen(world, what, of, size, f"p{number}")
        real, shadow = world.follow()
        _check(world, real, shadow)


def _happen(world: World, what: str, of: str | int, size: str, name: str) -> None:
    snapshot, pods = world.cache.state()
    if what in {"bind", "daemon"} and isinstance(of, str):
        drawn = _pod(name, of, size)
        drawn = _owned(drawn, "DaemonSet") if what == "daemon" else drawn
        built = drawn.build()
        if of in snapshot.row_of and _fits(built, snapshot.nodes.cluster.table.nodes, pods):
            world.cache.apply_pod(built)
    elif what == "end" and isinstance(of, int) and pods:
        world.cache.remove_pod(pods[of % len(pods)].uid)
    elif what == "delete" and isinstance(of, int) and pods:
        world.cache.apply_pod(msgspec.structs.replace(pods[of % len(pods)], deleting=True))
    elif what == "lose" and isinstance(of, str):
        world.cache.remove_node(of)
        for each in pods:
            if each.node_name == of:
                world.cache.remove_pod(each.uid)
    elif what == "come" and isinstance(of, str):
        world.cache.apply_node(_KINDS[of].build())
    elif what == "price" and isinstance(of, str) and of in snapshot.row_of:
        world.cache.apply_node(_KINDS[of].price(float(size)).build())


def _fits(new: Pod, nodes: Iterable[Node], pods: Iterable[Pod]) -> bool:
    has = next(each for each in nodes if each.name == new.node_name).allocatable["cpu"]
    return has >= new.requests["cpu"] + sum(
        each.requests["cpu"] for each in pods if each.node_name == new.node_name
    )


def _check(world: World, real: Side, shadow: Side) -> None:
    snapshot, pods = world.cache.state()
    moved, waiting = world.shadow.placements(), world.shadow.waiting
    nodes = {each.name: each for each in world.shadow.snapshot.nodes.cluster.table.nodes}
    prices = dict(
        zip(world.shadow.snapshot.nodes.names, world.shadow.snapshot.nodes.price.tolist(), strict=True)
    )
    asked: defaultdict[str, int] = defaultdict(int)
    used, used_here = set(), set()
    for each in pods:
        daemon = each.owner is not None
        place = moved.get(each.uid, each.node_name)
        assert not daemon or place == each.node_name
        if not (daemon or each.deleting):
            used.add(each.node_name)
            used_here.add(place)
        if each.uid not in waiting:
            asked[place] += each.requests["cpu"]
    for name, milli in asked.items():
        assert milli <= nodes[name].allocatable["cpu"], f"{name} has more on it than it has"
    assert moved.keys() <= {each.uid for each in pods}
    assert real.dollars == pytest.approx(sum(prices[name] for name in used))
    assert shadow.dollars == pytest.approx(sum(prices[name] for name in used_here))
    assert real.dollars - shadow.dollars <= sum(snapshot.nodes.price) + 1e-9
