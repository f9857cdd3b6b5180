"""Pods that wait for a node keep the room that a plan gives them, whatever is moved."""

import random
from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import pod
from tests.planner.cases import HOST, policy_of
from tests.planner.moves.fake_cluster import SHOP, FakeCluster
from tradewind.cluster.objects import Pod
from tradewind.planner.drains import Move, carried_out
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.planner import plan
from tradewind.planner.rent import Rent

_QUICK = {"everySeconds": 5, "minBalance": 0, "minAgeSeconds": 0, "minDollars": 0}


def waiting(name: str, cpu: str, on: str = "") -> Pod:
    each = pod(name).namespace(SHOP).uid(name).requests(cpu=cpu)
    return (each.node_selector(HOST, on) if on else each).build()


def two_nodes() -> FakeCluster:
    """The pod of the dear node fits on the cheap one, which has 3 cores left."""
    cluster = FakeCluster(**_QUICK)
    cluster.add_node("dear", 3)
    cluster.add_node("cheap", 1)
    cluster.add_pod("web", "dear", cpu="2")
    cluster.add_pod("web", "cheap", cpu="1")
    return cluster


def test_a_set_that_takes_the_room_of_a_pod_that_waits_is_not_begun() -> None:
    cluster = two_nodes()
    cluster.cache.apply_pod(waiting("late", "2", "cheap"))
    told = cluster.mover.run()
    assert told.advice is not None
    assert [each.trouble for each in told.advice] == ["shop/late waits, and would find no place"]
    assert (cluster.mover.drain, cluster.evicted) == (None, [])


def test_a_pod_that_finds_a_place_anyway_or_never_keeps_nobody() -> None:
    for each in (waiting("small", "1", "cheap"), waiting("anywhere", "2"), waiting("huge", "9")):
        cluster = two_nodes()
        cluster.cache.apply_pod(each)
        cluster.mover.run()
        assert len(cluster.evicted) == 1


def test_a_pod_that_comes_right_before_the_first_eviction() -> None:
    cluster = two_nodes()
    reserve = cluster.reserve

    def reserving(each: Pod, place: PlanAnnotation) -> bool:
        cluster.cache.apply_pod(waiting("late", "2", "cheap"))
        return reserve(each, place)

    cluster.reserve = reserving  # type: ignore[method-assign]
    cluster.tick()
    assert [drain.reason for drain in cluster.ended] == ["shop/late waits, and would find no place"]
    assert (cluster.evicted, cluster.reserved) == ([], {})


def drawn(seed: int) -> FakeCluster:
    """Up to five nodes, half full, and pods that wait, most of them for one node alone."""
    chance = random.Random(seed)
    cluster = FakeCluster(**_QUICK)
    nodes = [f"n{number}" for number in range(chance.randint(2, 5))]
    for name in nodes:
        cluster.add_node(name, chance.choice([0.5, 1.0, 3.0]))
    for number in range(chance.randint(2, 8)):
        cluster.add_pod(f"w{number // 2}", chance.choice(nodes), cpu=chance.choice(["500m", "1"]))
    for number in range(chance.randint(1, 4)):
        where = chance.choice([*nodes, ""])
        cluster.cache.apply_pod(waiting(f"late-{number}", chance.choice(["1", "2", "3"]), where))
    return cluster


def placed(cluster: FakeCluster, moves: Sequence[Move] = ()) -> set[str]:
    """Who a plan has a place for, after these moves."""
    snapshot, pods = cluster.cache.state()
    after = carried_out(snapshot, moves, policy_of)
    assert after is not None
    target = {move.pod.uid: move.target for move in moves}
    there = [msgspec.structs.replace(each, node_name=target.get(each.uid, each.node_name)) for each in pods]
    return {each.uid for each in plan(after, there, policy_of, None, 0.0, rent=Rent(2.0)).plan.placements}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 100_000))
def test_moves_leave_no_pod_without_a_node_that_a_plan_alone_places(seed: int) -> None:
    cluster = drawn(seed)
    alone = placed(cluster)
    before = drawn(seed)  # the same, as it was
    cluster.mover.run()
    begun = cluster.mover.drain or next(iter(cluster.ended), None)
    if begun is not None and cluster.evicted:
        moves = [Move(each.pod, each.target) for each in begun.moves]
        assert placed(before, moves) >= alone
