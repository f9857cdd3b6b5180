"""Drain sets on a cluster that answers, refuses, changes its mind and kills its leaders."""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

from tests.planner.moves.fake_cluster import NOTICE, QUICK, FakeCluster
from tradewind.cluster.budgets import Budget
from tradewind.cluster.objects import Pod
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.drain import Phase
from tradewind.planner.moves.ledger import Eviction, Ledger
from tradewind.planner.moves.mover import Refusal
from tradewind.planner.moves.world import World
from tradewind.planner.plan_annotation import PlanAnnotation

_WEB = "ReplicaSet shop/web"


def two_nodes(pods: int = 2, **moves: object) -> FakeCluster:
    """The dear node has replicas that fit on the cheap one."""
    cluster = FakeCluster(**{**QUICK, **moves})
    cluster.add_node("dear", 3)
    cluster.add_node("cheap", 1)
    for number in range(pods):
        cluster.add_pod(f"web{number}", "dear")
        cluster.add_pod(f"web{number}", "cheap", cpu="100m")
    return cluster


def test_a_node_is_emptied_pod_by_pod() -> None:
    cluster = two_nodes()
    cluster.tick()
    assert len(cluster.evicted) == 1  # the second waits for the replacement of the first
    assert sorted(cluster.reserved.values()) == ["cheap", "cheap"]
    cluster.run(10)
    assert [drain.phase for drain in cluster.ended] == [Phase.DONE]
    assert cluster.on("dear") == []
    assert len(cluster.on("cheap")) == 4
    assert cluster.reserved == {}
    cluster.check()


def test_a_terminating_pod_on_the_node_does_not_end_its_set() -> None:
    cluster = two_nodes(pods=1)
    uid = cluster.add_pod("slow", "dear")
    [slow] = cluster.cache.pods([uid])
    cluster.cache.apply_pod(msgspec.structs.replace(slow, deleting=True))
    cluster.hangs = lambda pod: pod.uid == uid
    cluster.run(20)
    assert [drain.phase for drain in cluster.ended] == [Phase.DONE]
    assert [pod.uid for pod in cluster.on("dear")] == [uid]
    cluster.check()


def test_a_record_of_the_far_future_counts_as_one_of_now() -> None:
    """So it stops moves for an hour, whoever wrote it, and not until 2099."""
    cluster = two_nodes(pods=1)
    late = datetime(2099, 1, 1, tzinfo=UTC).timestamp()
    evictions = [
        Eviction(late, late, f"old{number}", "shop", "other", "other")
        for number in range(cluster.settings.moves.budget.evictions)
    ]
    booked = Eviction(late, late, "booked", "shop", "other", "other")
    cluster.save(Ledger(tuple(evictions), (booked,), "cheap", {"dear": late}))
    cluster.run(3540, step=60.0)
    assert cluster.evicted == []
    cluster.kill_leader()  # what it knew is in the record
    cluster.run(120, step=5.0)
    assert len(cluster.evicted) == 1
    cluster.check()


@pytest.mark.parametrize("step", [-86_400.0, 86_400.0])
def test_a_clock_that_was_set_between_two_leads_stops_no_looks(step: float) -> None:
    cluster = two_nodes(mode="advise")
    assert cluster.tick().advice is not None
    cluster.mover.forget()
    cluster.now += step
    assert cluster.tick().advice is not None
    assert cluster.tick().advice is None


def replicas_together(starts_for: float) -> FakeCluster:
    """Two of one workload on the dear node, one on the cheap one, and a pod of another workload."""
    cluster = FakeCluster(**QUICK)
    cluster.add_node("dear", 3)
    cluster.add_node("cheap", 1)
    for owner, on in (("web", "dear"), ("web", "dear"), ("api", "dear"), ("web", "cheap"), ("api", "cheap")):
        cluster.add_pod(owner, on, cpu="500m")
    cluster.add_pod("critical", "cheap", cpu="100m", priority=2_000)  # which keeps that node
    cluster.starts_for = lambda pod: starts_for if pod.workload == _WEB else 1.0
    return cluster


def test_the_next_replica_waits_until_the_replacement_of_the_last_is_ready() -> None:
    cluster = replicas_together(starts_for=60.0)
    cluster.run(50)
    assert sorted(each.pod.workload for each in cluster.evicted) == [
        "ReplicaSet shop/api",
        _WEB,
    ]  # others need not wait
    cluster.run(60)
    first, second = [each.at for each in cluster.evicted if each.pod.workload == _WEB]
    assert second - first >= 60.0
    cluster.run(20)
    assert [drain.phase for drain in cluster.ended] == [Phase.DONE]
    cluster.check()


def test_a_replacement_that_never_becomes_ready_ends_the_set() -> None:
    cluster = replicas_together(starts_for=1e9)
    cluster.run(600)
    assert len([each for each in cluster.evicted if each.pod.workload == _WEB]) == 1
    assert cluster.ended[0].reason.startswith("what replaces shop/web-")
    assert cluster.ended[0].reason.endswith(" is not Ready")
    cluster.check()


def test_a_workload_with_a_replica_that_is_not_ready_is_left_alone() -> None:
    cluster = two_nodes(pods=1)
    cluster.starts_for = lambda _: 1e9
    uid = cluster.add_pod("web0", "cheap", cpu="100m")
    [third] = cluster.cache.pods([uid])
    cluster.cache.apply_pod(msgspec.structs.replace(third, ready=False))
    cluster.run(60)
    assert cluster.evicted == []
    cluster.starts_for = lambda _: 0.0
    cluster.run(60)
    assert len(cluster.evicted) == 1


def test_a_replacement_is_pinned_and_the_room_of_the_others_is_taken() -> None:
    cluster = two_nodes()
    cluster.mover.run()
    [replacement] = cluster.held()
    flight = cluster.mover.in_flight(cluster.cache.waiting())
    assert flight.pins == {replacement.uid: "cheap"}
    assert [(each.name, each.node_name) for each in flight.taken] == [("web0-0-moved", "cheap")]
    assert flight.emptied == {"dear"}


def test_advice_moves_nothing() -> None:
    cluster = two_nodes(mode="advise")
    told = cluster.tick()
    assert told.advice is not None
    assert [(each.chosen.node, each.trouble) for each in told.advice] == [("dear", "")]
    cluster.run(100)
    assert cluster.evicted == []


@pytest.mark.parametrize("mode", ["off", "advise"])
def test_switched_off_in_between(mode: str) -> None:
    cluster = two_nodes()
    cluster.tick()
    cluster.settings = cluster.settings.model_copy(
        update={"moves": cluster.settings.moves.model_copy(update={"mode": mode})}
    )
    cluster.run(60)
    assert [drain.reason for drain in cluster.ended] == ["planner.moves.mode is no longer act"]
    assert len(cluster.evicted) == 1
    assert cluster.held() == []
    assert cluster.reserved == {}
    cluster.check()


def test_a_refusal_in_the_dry_run_moves_nothing_and_the_node_cools_down() -> None:
    cluster = two_nodes()
    cluster.budget_allows = lambda pod: not pod.name.startswith("web1")
    cluster.run(60)
    assert cluster.ended[0].reason == "shop/web1-2 may not be evicted: a disruption budget"
    assert [drain.node for drain in cluster.ended] == ["dear", "cheap"]
    cluster.run(10)
    assert [drain.node for drain in cluster.ended] == ["dear", "cheap", "dear", "cheap"]
    assert cluster.evicted == []
    cluster.check()


def test_a_budget_that_closes_in_between_is_waited_for_and_then_given_up() -> None:
    cluster = two_nodes()
    cluster.dry_runs_pass = True
    cluster.budget_allows = lambda pod: not pod.name.startswith("web0")
    cluster.run(100)
    assert cluster.ended == []
    cluster.run(100)
    assert [drain.reason for drain in cluster.ended][:1] == ["it took too long"]
    assert len(cluster.evicted) == 1
    cluster.check()


def test_a_rollout_cancels() -> None:
    cluster = two_nodes()
    cluster.mover.run()
    rolled = cluster.held()[0]
    cluster.cache.remove_pod(rolled.uid)
    uid = cluster.add_pod("web1-new", "", age=0)
    [new] = cluster.cache.pods([uid])
    old = cluster.mover.drain.moves[0].pod if cluster.mover.drain else None
    assert old is not None
    cluster.cache.apply_pod(_of_workload(new, old.workload))
    cluster.tick()
    assert [drain.reason for drain in cluster.ended] == ["a rollout of ReplicaSet shop/web1 began"]
    cluster.run(60)
    assert cluster.held() == []


def _of_workload(pod: Pod, workload: str) -> Pod:
    return msgspec.structs.replace(pod, workload=workload)


def test_a_pod_of_another_namespace_that_names_the_controller_replaces_nothing() -> None:
    cluster = two_nodes()
    cluster.add_node("other", 9)
    cluster.tick()
    uid = cluster.add_pod("web0", "other", age=0)
    [forged] = cluster.cache.pods([uid])
    cluster.cache.apply_pod(
        msgspec.structs.replace(forged, namespace="evil", workload="ReplicaSet evil/web0")
    )
    cluster.run(10)
    assert [drain.reason for drain in cluster.ended] == [""]
    cluster.check()


def test_a_replacement_elsewhere_stops_the_set() -> None:
    cluster = two_nodes()
    cluster.add_node("other", 9)
    cluster.lands = lambda _, __: "other"
    cluster.run(4)
    assert "is on other instead of cheap" in cluster.ended[0].reason
    assert len(cluster.evicted) == 1
    cluster.check()


def test_no_replacement_at_all() -> None:
    cluster = two_nodes()
    cluster.recreated = lambda _: ""
    cluster.run(50)
    assert [drain.reason for drain in cluster.ended] == ["nothing replaced shop/web1-2"]
    assert len(cluster.evicted) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(lambda c: c.add_node("dear", 0.001), "$0.001 in 1 h is less than $0.01", id="price"),
        pytest.param(
            lambda c: c.add_node("cheap", 1, taint="gone"), "no longer fit on their targets", id="taint"
        ),
        pytest.param(
            lambda c: c.add_pod("big", "cheap", cpu="3"), "no longer fit on their targets", id="room"
        ),
        pytest.param(
            lambda c: c.add_pod("x", "dear", cpu="1m"), "shop/x-4 came to dear meanwhile", id="a pod"
        ),
        pytest.param(
            lambda c: c.cache.remove_pod("web0-0"), "shop/web0-0 is no longer on dear", id="it left"
        ),
    ],
)
def test_a_second_look_right_before_the_first_eviction(
    change: Callable[[FakeCluster], object], reason: str
) -> None:
    cluster = two_nodes()
    reserve, done = cluster.reserve, list[object]()

    def changing(each: Pod, place: PlanAnnotation) -> bool:
        if not done:
            done.append(change(cluster))
        return reserve(each, place)

    cluster.reserve = changing  # type: ignore[method-assign]
    cluster.tick()
    assert reason in cluster.ended[0].reason
    assert cluster.evicted == []
    assert cluster.reserved == {}


def test_a_set_that_was_overtaken_before_its_first_eviction_is_soon_tried_again() -> None:
    cluster = two_nodes(nodeCooldownSeconds=3600)
    cluster.add_pod("critical", "cheap", cpu="100m", priority=2_000)  # which keeps that node
    reserve, in_the_way = cluster.reserve, list[str]()

    def overtaken(each: Pod, place: PlanAnnotation) -> bool:
        if not in_the_way:
            in_the_way.append(cluster.add_pod("big", "cheap", cpu="3"))
        return reserve(each, place)

    cluster.reserve = overtaken  # type: ignore[method-assign]
    cluster.tick()
    assert "no longer fit" in cluster.ended[0].reason
    cluster.cache.remove_pod(in_the_way[0])
    cluster.run(9)
    assert cluster.evicted == []  # two looks are for others
    cluster.run(10)
    assert [drain.phase for drain in cluster.ended] == [Phase.GIVEN_UP, Phase.DONE]
    cluster.check()


def test_a_node_that_a_pod_is_planned_on_is_not_emptied_although_nothing_is_written_yet() -> None:
    cluster = two_nodes()
    cluster.add_pod("critical", "cheap", cpu="100m", priority=2_000)  # which keeps that node
    uid = cluster.add_pod("new", "", cpu="100m")
    [new] = cluster.cache.pods([uid])
    cluster.promised = {uid: msgspec.structs.replace(new, node_name="dear")}
    cluster.mover.run()
    assert cluster.evicted == []
    cluster.cache.remove_pod(uid)  # what was promised to a pod that is gone is nobody's
    cluster.run(10)
    assert cluster.evicted


def test_what_was_planned_while_sets_were_looked_for_keeps_the_node() -> None:
    cluster = two_nodes()
    uid = cluster.add_pod("new", "", cpu="100m")
    [new] = cluster.cache.pods([uid])

    def budgets() -> list[Budget]:
        cluster.promised = {uid: msgspec.structs.replace(new, node_name="dear")}
        return []

    cluster.budgets = budgets  # type: ignore[method-assign]
    told = cluster.mover.run()
    assert told.advice is not None
    assert [(each.chosen.node, each.trouble) for each in told.advice] == [
        ("dear", "shop/new-4 is on its way to dear")
    ]
    assert told.ended is None  # so the node is not left alone for a while
    assert cluster.evicted == []


def test_what_is_promised_takes_room() -> None:
    cluster = two_nodes()
    uid = cluster.add_pod("new", "", cpu="3")
    [new] = cluster.cache.pods([uid])
    promised = {uid: msgspec.structs.replace(new, node_name="cheap")}
    planned = World(*cluster.cache.state(), cluster.now, promised).as_planned()
    free = planned.snapshot.nodes.take(np.array([planned.snapshot.row_of["cheap"]])).free
    assert free[planned.snapshot.nodes.resource_rows["cpu"], 0] == 4_000 - 200 - 3_000


def test_room_is_kept_from_the_moment_when_a_set_is_chosen() -> None:
    cluster = two_nodes()
    evict, seen = cluster.evict, list[frozenset[str]]()

    def looking(victim: Pod, *, dry_run: bool = False) -> Refusal | None:
        seen.append(cluster.mover.in_flight(cluster.cache.waiting()).emptied if dry_run else frozenset())
        return evict(victim, dry_run=dry_run)

    cluster.evict = looking  # type: ignore[method-assign]
    cluster.mover.run()
    assert seen[0] == {"dear"}


def test_what_cannot_be_recorded_does_not_happen() -> None:
    cluster = two_nodes()
    cluster.saves = False
    cluster.run(100)
    assert cluster.evicted == []
    cluster.saves = True
    cluster.run(100)
    assert len(cluster.evicted) == 2


# For safety.


def test_pods_leave_a_node_with_a_termination_notice_at_once_and_money_gives_way() -> None:
    cluster = two_nodes(everySeconds=3600)
    cluster.tick()
    assert len(cluster.evicted) == 1  # to empty the dear node
    cluster.add_pod("single", "cheap", cpu="100m", age=0)
    cluster.add_node("cheap", 1, taint=NOTICE, spot=True)
    cluster.run(60)
    assert cluster.ended[0].reason == "cheap has a termination notice, and goes first"
    assert (cluster.ended[1].cause, cluster.ended[1].phase) == (Cause.NOTICE, Phase.DONE)
    assert cluster.held() == []
    recorded = cluster.load() or Ledger()
    assert {each.cause for each in recorded.evictions} == {Cause.MONEY, Cause.NOTICE}
    assert [str(pod) for pod in cluster.on("cheap") if pod.name.startswith("single")] == []
    cluster.check()


def test_a_notice_that_is_taken_back_ends_the_set() -> None:
    cluster = two_nodes(causes=["notice"])
    cluster.add_node("dear", 3, taint=NOTICE, spot=True)
    cluster.tick()
    assert len(cluster.evicted) == 1
    cluster.add_node("dear", 3)
    cluster.run(5)
    assert cluster.ended[0].reason == "cheap is no better place any more for shop/web1-2"
    assert len(cluster.evicted) == 1
    cluster.check()


def test_a_critical_pod_goes_to_a_durable_node_and_stays_there() -> None:
    cluster = FakeCluster(**QUICK)
    cluster.add_node("spot", 1, spot=True)
    cluster.add_node("durable", 3)
    cluster.add_pod("web", "spot", priority=100_000)
    cluster.add_pod("web", "durable")
    cluster.run(100)
    assert [(drain.cause, drain.phase) for drain in cluster.ended] == [(Cause.CRITICAL, Phase.DONE)]
    assert len(cluster.on("durable")) == 2
    cluster.check()
