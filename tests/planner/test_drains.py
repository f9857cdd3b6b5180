"""Which nodes can be emptied, recounted from the objects themselves by other code."""

import random
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.in_tree import IN_TREE
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, copies, filled, policy_of
from tests.planner.drawn import mixed_nodes, mixed_pods
from tradewind.cluster import bonds
from tradewind.cluster.budgets import Budget
from tradewind.cluster.selectors import parse_selector
from tradewind.planner import ties
from tradewind.planner.bound import lower_bound
from tradewind.planner.drains import Drains, Kept, drains, movable
from tradewind.planner.keepers import CAUTIONS, Keeper, Limits


def web(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return pod(name).label("app", "web").owner("ReplicaSet", "web", "web").requests(cpu=cpu).on(on)


def two(odd: PodBuilder) -> list[PodBuilder]:
    """The odd one on the dear node, a replica of it on the cheap one."""
    return [odd, web("other", "cheap")]


NODES = [node("dear").price(3), node("cheap").price(1)]


def found(
    pods: Sequence[PodBuilder],
    nodes: Sequence[NodeBuilder] = NODES,
    budgets: Sequence[Budget] = (),
    limits: Limits | None = None,
) -> Drains:
    cache = filled(nodes, pods)
    return drains(cache.snapshot(), cache.all_pods(), policy_of, budgets, limits=limits)


def test_the_dear_node_is_emptied_onto_the_cheap_one() -> None:
    [emptied] = found(two(web("a", "dear"))).sets
    assert (emptied.node, emptied.price) == ("dear", 3.0)
    assert [(str(move.pod), move.target) for move in emptied.moves] == [("default/a", "cheap")]


def test_room_is_deducted_and_a_node_is_emptied_whole_or_not_at_all() -> None:
    """1 core of 4 is taken on the cheap node: of 2 + 2 cores only 2 would fit."""
    told = found([web("a", "dear", "2"), web("b", "dear", "2"), web("c", "cheap")])
    assert [each.node for each in told.sets] == ["cheap"] or told.sets == ()
    assert "dear" in told.full
    twenty = [node(f"n{number}").price(1) for number in range(20)]
    many = found([web(f"p{number}", f"n{number}", "1500m") for number in range(20)], twenty)
    assert len(many.sets) == 10  # two of 1.5 cores on each node of 4


def test_nothing_moves_to_a_node_that_is_empty_or_emptied() -> None:
    nodes = [node("dear").price(3), node("cheap").price(1), node("free").price(0.1)]
    told = found(two(web("a", "dear", "3")), nodes)
    targets = {move.target for each in told.sets for move in each.moves}
    assert targets <= {"dear", "cheap"} - {each.node for each in told.sets}
    assert told.empty == ("free",)


KEPT = [
    pytest.param(web("a", "dear").annotation(bonds.DO_NOT_DISRUPT, "true"), Keeper.DO_NOT_DISRUPT),
    pytest.param(web("a", "dear").annotation(bonds.SAFE_TO_EVICT, "false"), Keeper.SAFE_TO_EVICT),
    pytest.param(web("a", "dear").annotation(bonds.PREFER_NO_EVICTION, "true"), Keeper.PREFER_NO_EVICTION),
    pytest.param(web("a", "dear").without("metadata", "ownerReferences"), Keeper.BARE),
    pytest.param(web("a", "dear").owner("Job", "j", "j"), Keeper.JOB),
    pytest.param(web("a", "dear").owner("StatefulSet", "db", "db"), Keeper.SINGLE),
    pytest.param(web("a", "dear").field("spec", "volumes", value=[{"emptyDir": {}}]), Keeper.LOCAL_STORAGE),
    pytest.param(
        web("a", "dear").field("spec", "volumes", value=[{"persistentVolumeClaim": {}}]), Keeper.VOLUME
    ),
    pytest.param(web("a", "dear").field("spec", "schedulerName", value="volcano"), Keeper.SCHEDULER),
    pytest.param(web("a", "dear").annotation("tradewind.dev/gang", "g"), Keeper.GANG),
    pytest.param(web("a", "dear").field("spec", "schedulingGroup", "podGroupName", value="g"), Keeper.GANG),
    pytest.param(web("a", "dear").annotation("tradewind.dev/one-per-node", "perhaps"), Keeper.TIED),
]


@pytest.mark.parametrize(("odd", "keeper"), KEPT)
def test_pods_that_stay_keep_their_node(odd: PodBuilder, keeper: Keeper) -> None:
    told = found(two(odd))
    assert (told.kept["dear"].keeper, told.kept["dear"].pods) == (keeper, ("default/a",))
    overruled = found(two(odd), limits=Limits(overruled=frozenset(CAUTIONS)))
    assert ("dear" in {each.node for each in overruled.sets}) == (keeper in CAUTIONS)


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_what_every_node_has_keeps_none(kind: str) -> None:
    own = pod("agent").owner(kind, "agent", "agent").on("dear").annotation(bonds.DO_NOT_DISRUPT, "true")
    assert found([own]).empty == ("dear", "cheap")
    assert [each.node for each in found([own, *two(web("a", "dear"))]).sets] == ["dear"]


def test_a_mirror_pod_without_an_owner_keeps_none() -> None:
    mirror = pod("etcd").on("dear").annotation("kubernetes.io/config.mirror", "x")
    assert found([mirror]).empty == ("dear", "cheap")


def test_a_node_whose_last_pods_are_terminating_is_no_saving_and_takes_none() -> None:
    """The ending node is the cheapest and has room: were it in use, both others would be emptied onto it."""
    nodes = [*NODES, node("ending").price(0.1)]
    told = found([web("gone", "ending").deleting(), *two(web("a", "dear"))], nodes)
    assert told.empty == ()
    assert told.kept == {"ending": Kept(Keeper.TERMINATING, ())}
    moves = [(each.node, move.target) for each in told.sets for move in each.moves]
    assert moves == [("dear", "cheap")]


def test_a_cluster_whose_pods_are_all_terminating_is_not_to_be_had_for_nothing() -> None:
    told = found([web("a", "dear").deleting(), web("b", "cheap").deleting()])
    assert (told.empty, told.sets) == ((), ())
    assert [each.keeper for each in told.kept.values()] == [Keeper.TERMINATING] * 2


def test_terminating_pods_beside_others_do_not_keep_a_node() -> None:
    told = found([web("gone", "dear").deleting(), *two(web("a", "dear"))])
    assert [(each.node, len(each.moves)) for each in told.sets] == [("dear", 1)]


@pytest.mark.parametrize(
    ("allowed", "emptied"),
    [pytest.param(0, [], id="no eviction"), pytest.param(1, ["dear"], id="one by one")],
)
def test_disruption_budgets(allowed: int, emptied: list[str]) -> None:
    budget = Budget("default", "web", parse_selector("app=web"), allowed)
    told = found(two(web("a", "dear")), budgets=[budget])
    assert [each.node for each in told.sets] == emptied
    if not emptied:
        assert told.kept["dear"].keeper is Keeper.BUDGET


def test_the_eviction_api_refuses_pods_of_two_budgets() -> None:
    budgets = [Budget("default", name, parse_selector("app=web"), 1) for name in ("one", "two")]
    assert found(two(web("a", "dear")), budgets=budgets).kept["dear"].keeper is Keeper.BUDGET


@pytest.mark.parametrize(
    ("odd", "keeper"),
    [
        (node("dear").price(3).annotation(bonds.DO_NOT_DISRUPT, "true"), Keeper.NODE),
        (node("dear").price(3).annotation(bonds.SCALE_DOWN_DISABLED, "true"), Keeper.NODE),
        (node("dear").price(3).label("node-role.kubernetes.io/control-plane", ""), Keeper.CONTROL_PLANE),
        (node("dear").price(3).taint("karpenter.sh/disrupted"), Keeper.LEAVING),
    ],
)
def test_nodes_that_stay(odd: NodeBuilder, keeper: Keeper) -> None:
    assert found(two(web("a", "dear")), [odd, NODES[1]]).kept["dear"].keeper is keeper


def test_pods_that_others_follow_stay_with_them() -> None:
    follower = pod("log").owner("ReplicaSet", "log", "log").affinity(HOST, {"app": "web"}).on("dear")
    told = found([*two(web("a", "dear")), follower])
    assert told.kept["dear"].keeper in {Keeper.FOLLOWED, Keeper.SINGLE}
    assert told.kept["cheap"].keeper is Keeper.FOLLOWED


def test_a_saving_is_weighed_against_what_the_pods_cost_elsewhere() -> None:
    """A critical pod on a spot node costs more than what a cheap durable node is paid."""
    spot = node("spot").price(1).label("karpenter.sh/capacity-type", "spot")
    critical = web("a", "durable").priority(1_000_000_000)
    assert found([critical, web("b", "spot")], [node("durable").price(1.0), spot]).sets[0].node == "spot"


def test_planned_pods_go_elsewhere_without_being_moved() -> None:
    cache = filled(NODES, [web("a", "dear").owner("StatefulSet", "new", "new"), web("b", "cheap")])
    told = drains(cache.snapshot(), cache.all_pods(), policy_of, unbound=["default/a"])
    assert [(each.node, each.moves) for each in told.sets] == [("dear", ())]
    assert {str(each): each.node_name for each in told.pods} == {"default/a": "cheap", "default/b": "cheap"}


def _running(
    draw: random.Random, nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder]
) -> list[PodBuilder]:
    """Placed one after another where kube-scheduler could have, or left waiting."""
    cache = filled(nodes, [])
    placed = []
    for builder in pods:
        waiting = builder.build()
        snapshot = cache.snapshot()
        fits = np.ones(len(snapshot.nodes), np.bool_)
        for rule in IN_TREE:
            fits &= rule().feasible(waiting, snapshot.nodes)
        rows = np.flatnonzero(fits).tolist()
        placed.append(builder.on(snapshot.nodes.names[draw.choice(rows)]) if rows else builder)
        cache.apply_pod(placed[-1].build())
    return placed


@given(st.integers(0, 2**32), st.booleans())
def test_every_promise_on_drawn_clusters(seed: int, tied: bool) -> None:
    draw = random.Random(seed)
    nodes = mixed_nodes(draw.randint(2, 14))
    pods = _running(draw, nodes, mixed_pods(draw, draw.randint(1, 8), tied=tied))
    cache = filled(nodes, pods)
    told = found(pods, nodes)
    names = {each.document["metadata"]["name"] for each in nodes}
    emptied = [each.node for each in told.sets]
    parts = [*emptied, *told.empty, *told.kept, *told.full]
    assert sorted(parts) == sorted(names)
    # Carried out one after another, every move is accepted by kube-scheduler's own filters.
    for each in told.sets:
        on = {pod.uid for pod in cache.all_pods() if pod.node_name == each.node}
        assert on == {move.pod.uid for move in each.moves}
        for move in each.moves:
            cache.remove_pod(move.pod.uid)
        for move in each.moves:
            assert move.target not in emptied
            waiting = msgspec.structs.replace(move.pod, node_name="")
            at = cache.snapshot().nodes.take(np.array([cache.snapshot().row_of[move.target]]))
            assert [rule.name for rule in IN_TREE if not rule().feasible(waiting, at).all()] == []
            cache.apply_pod(msgspec.structs.replace(move.pod, node_name=move.target))
        cache.remove_node(each.node)
    assert {pod.uid: pod.node_name for pod in cache.all_pods()} == {p.uid: p.node_name for p in told.pods}
    assert (cache.snapshot().nodes.free[:4] >= 0).all()  # cpu, memory, storage, pods
    _recount(nodes, told)
    before = filled(nodes, pods)
    after = sum(float(price_of(each)) for each in nodes if name_of(each) not in emptied)
    bound = lower_bound(*movable(before.snapshot(), before.all_pods(), policy_of), 10)
    assert after + 1e-9 >= bound


def name_of(builder: NodeBuilder) -> str:
    return str(builder.document["metadata"]["name"])


def price_of(builder: NodeBuilder) -> float:
    return float(builder.document["metadata"]["annotations"]["tradewind.dev/price"])


def _recount(nodes: Sequence[NodeBuilder], told: Drains) -> None:
    price = {name_of(each): price_of(each) for each in nodes}
    saved = sum(each.price for each in told.sets)
    assert saved == pytest.approx(sum(price[each.node] for each in told.sets))
    assert 0 <= saved <= sum(price.values())
    used = {each.node_name for each in told.pods if each.node_name}
    assert used <= price.keys() - {each.node for each in told.sets} - set(told.empty)


def test_the_bound_counts_what_is_now_as_possible() -> None:
    """Both pods are on a cordoned node, where none would be let now: it is enough, and half full."""
    pods = [web("a", "cordoned"), web("b", "cordoned")]
    cache = filled([node("cordoned").price(1).unschedulable(), node("dear").price(9)], pods)
    assert lower_bound(*movable(cache.snapshot(), cache.all_pods(), policy_of), 10) == pytest.approx(0.5)


def test_spread_and_anti_affinity_hold_at_the_targets() -> None:
    nodes = [node(name).price(1).label(ZONE, name) for name in ("a", "b", "c")]
    spread = web("p", "a").spread(ZONE, {"app": "web"})
    apart = web("p", "a").anti_affinity(HOST, {"app": "web"})
    for start in (spread, apart):
        pods = [each.on(name) for each, name in zip(copies(start, "p", 3), "abc", strict=True)]
        assert found(pods, nodes).sets == ()


def test_no_node_is_emptied_that_has_a_pod_without_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    tied = web("a", "dear").label("app", "db").anti_affinity(HOST, {"app": "db"})
    pods = [tied, web("b", "dear"), web("other", "cheap")]
    [emptied] = found(pods).sets
    assert {str(move.pod) for move in emptied.moves} == {"default/a", "default/b"}
    monkeypatch.setattr(ties, "MAX_MEMBERS", 0)
    told = found(pods)
    assert "dear" not in {each.node for each in told.sets}
    assert "dear" in told.full
