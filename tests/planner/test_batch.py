"""How waiting pods become classes, and which of them no plan is made for."""

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, planned, policy_of, where
from tradewind.cluster import hints
from tradewind.planner import plan_annotation
from tradewind.planner.batch import make_batch
from tradewind.planner.planner import plan


def test_labels_that_no_rule_asks_for_do_not_divide_a_class() -> None:
    pods = [each.label("index", str(n)) for n, each in enumerate(copies(pod("s").requests(cpu="1"), "s", 5))]
    assert len(batch_of(filled([node("n")], pods)).groups) == 1
    asking = pod("asks").requests(cpu="1").anti_affinity(HOST, {"index": "3"})
    assert len(batch_of(filled([node("n")], [*pods, asking])).groups) == 6


@pytest.mark.parametrize(
    ("annotation", "classes"),
    [
        pytest.param(plan_annotation.ANNOTATION, 1, id="an earlier plan does not"),
        pytest.param("controller.kubernetes.io/pod-deletion-cost", 1, id="the cost of deletion does not"),
        pytest.param("tradewind.dev/workload-class", 2, id="what a rule reads does"),
    ],
)
def test_what_divides_a_class(annotation: str, classes: int) -> None:
    first, second = copies(pod("s").requests(cpu="1"), "s", 2)
    batch = batch_of(filled([node("n")], [first.annotation(annotation, "1"), second]))
    assert len(batch.groups) == classes


def _unreadable(name: str) -> PodBuilder:
    return pod(name).requests(cpu="1").annotation(hints.MAX_PER_ZONE, "few")


def test_an_annotation_without_sense_costs_only_its_pod_a_place() -> None:
    plan = planned([node("n")], [_unreadable("bad"), pod("good").requests(cpu="1")])
    assert where(plan) == {"good": "n"}
    assert hints.MAX_PER_ZONE in plan.unplaced["default/bad"]
    assert '"few"' in plan.unplaced["default/bad"]


@pytest.mark.parametrize(
    "annotation", [hints.CONFLICTS, hints.XOR], ids=["while others have conflicts", "while others choose"]
)
def test_such_a_pod_on_a_node_stops_no_plan(annotation: str) -> None:
    placed = _unreadable("bad").annotation(annotation, "good").on("n")
    plan = planned([node("n")], [placed, pod("good").requests(cpu="1").annotation(annotation, "other")])
    assert where(plan) == {"good": "n"}


def test_a_gang_waits_for_its_pod_that_cannot_be_read() -> None:
    gang = [each.annotation("tradewind.dev/gang", "g") for each in (_unreadable("bad"), pod("a"), pod("b"))]
    plan = planned([node("n")], gang)
    assert where(plan) == {}
    assert "gang g needs default/bad" in plan.unplaced["default/a"]


def test_a_gang_of_which_enough_are_left_does_not_wait() -> None:
    gang = [each.annotation("tradewind.dev/gang", "g") for each in (_unreadable("bad"), pod("a"), pod("b"))]
    plan = planned([node("n")], [*gang[:1], *(each.annotation(hints.GANG_MIN, "2") for each in gang[1:])])
    assert where(plan) == {"a": "n", "b": "n"}


def test_only_pods_of_a_gang_must_go_where_they_are_planned() -> None:
    gang = [pod(name).requests(cpu="1").annotation("tradewind.dev/gang", "g") for name in ("a", "b")]
    found = planned([node("n")], [*gang, pod("alone").requests(cpu="1")])
    assert {each.pod: each.strict for each in found.placements} == {
        "default/a": True,
        "default/b": True,
        "default/alone": False,
    }


def test_a_plan_says_until_when_it_counts() -> None:
    cache = filled([node("n")], [pod("a").requests(cpu="1")])
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, expires_at=1234.5)
    assert found.plan.expires_at == 1234.5


def _conditioned(name: str, condition: str) -> NodeBuilder:
    return node(name).field("status", "conditions", value=[{"type": condition, "status": "True"}])


def test_pods_that_differ_in_what_they_would_rather_have_are_not_equal() -> None:
    def wanting(name: str, zone: str) -> PodBuilder:
        terms = [{"key": ZONE, "operator": "In", "values": [zone]}]
        preferred = [{"weight": 1, "preference": {"matchExpressions": terms}}]
        path = ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
        return pod(name).requests(cpu="1").field(*path, value=preferred)

    nodes = [node(zone).label(ZONE, zone) for zone in "ab"]
    running = [pod(f"on-{zone}").on(zone) for zone in "ab"]
    found = planned(nodes, [*running, wanting("one", "a"), wanting("two", "b")])
    assert where(found) == {"one": "a", "two": "b"}


@pytest.mark.parametrize(
    "leaving",
    [
        pytest.param(_conditioned("cheap", "PreemptScheduled"), id="by a condition"),
        pytest.param(
            node("cheap").taint("aws-node-termination-handler/spot-itn", "PreferNoSchedule"),
            id="by a taint that keeps no pod away",
        ),
    ],
)
def test_nothing_is_planned_onto_a_node_that_is_about_to_be_taken_away(leaving: NodeBuilder) -> None:
    nodes = [leaving.price(1), node("dear").cpu("1").price(9)]
    found = planned(nodes, copies(pod("p").requests(cpu="600m"), "p", 2))
    assert list(where(found).values()) == ["dear"]
    (reason,) = found.unplaced.values()
    assert "leaving: node(s) had a termination notice (1 of 2 nodes; 1 would do without this)" in reason


def test_room_beside_terminating_pods_alone_costs_the_price_of_its_node() -> None:
    staying = [
        pod("a").owner("ReplicaSet", "a", "a").on("used"),
        pod("b").owner("ReplicaSet", "b", "b").deleting().on("ending"),
    ]
    cache = filled([node("used").price(2), node("ending").price(1)], [*staying, pod("p").requests(cpu="1")])
    problem = make_batch(cache.snapshot(), cache.all_pods(), policy_of).problem
    in_use = dict(zip(problem.node_names, problem.in_use.tolist(), strict=True))
    assert in_use == {"used": True, "ending": False}


def test_pods_on_such_a_node_stay_what_others_look_for() -> None:
    anchor = pod("anchor").label("app", "a").on("old")
    follower = pod("f").requests(cpu="1").affinity(ZONE, {"app": "a"})
    nodes = [_conditioned("old", "PreemptScheduled").label(ZONE, "z"), node("new").label(ZONE, "z")]
    assert where(planned(nodes, [anchor, follower])) == {"f": "new"}
