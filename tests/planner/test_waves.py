"""Each wave is accepted in any order, as kube-scheduler's rules see it pod by pod."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.brute_force import draw_cluster
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, planned, policy_of
from tests.planner.check import violations
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.plan import Plan, make_plan
from tradewind.planner.problem import Outcome
from tradewind.planner.reasons import reasons


def _shuffled(draw: random.Random, plan: Plan) -> Plan:
    placements = list(plan.placements)
    draw.shuffle(placements)
    return replace(plan, placements=tuple(sorted(placements, key=lambda each: each.wave)))


def _plan(cache: Cache, *, solve: bool) -> Plan:
    batch = batch_of(cache)
    found = [Outcome(greedy(batch.problem), "greedy")]
    if solve:
        optimise(batch.problem, found[0].assignment, 1, found.append)
    order = valid_order(batch.problem, found[-1].assignment)
    return make_plan(batch, order, {**batch.refused, **reasons(batch, assignment_of(order))}, "any")


def _draw_nodes(draw: random.Random) -> list[NodeBuilder]:
    nodes = []
    for number in range(draw.randint(3, 7)):
        each = node(f"n{number}").cpu(draw.choice(["2", "4"])).memory(draw.choice(["4Gi", "8Gi"]))
        each = each.price(draw.choice([1, 2, 3]))
        if draw.random() < 0.9:
            each = each.label(ZONE, draw.choice("abc"))
        if draw.random() < 0.1:
            each = each.taint("special")
        nodes.append(each.label("karpenter.sh/capacity-type", "spot") if draw.random() < 0.4 else each)
    return nodes


def _draw_pods(draw: random.Random) -> list[PodBuilder]:
    """Workloads whose rules look at each other: the apps are few, so that most rules match several."""
    pods: list[PodBuilder] = []
    for number in range(draw.randint(2, 6)):
        app = draw.choice("xyz")
        start = pod("x").label("app", app).owner("ReplicaSet", f"r{number}", f"r{number}")
        start = start.requests(cpu=draw.choice(["100m", "300m"]), memory=draw.choice(["256Mi", "900Mi"]))
        for _ in range(draw.randint(0, 2)):
            start = _tied(draw, start, app)
        pods += copies(start, f"w{number}", draw.randint(1, 7))
    placed = copies(pod("x").label("app", draw.choice("xyz")).requests(cpu="100m"), "old", draw.randint(0, 3))
    return [*pods, *(each.on(f"n{draw.randrange(3)}") for each in placed)]


def _tied(draw: random.Random, start: PodBuilder, app: str) -> PodBuilder:
    key, other = draw.choice([HOST, ZONE]), {"app": draw.choice([app, *"xyz"])}
    match draw.randrange(7):
        case 0 | 1:
            policy = {"nodeTaintsPolicy": "Honor"} if draw.random() < 0.2 else {}
            least = {"minDomains": 3} if draw.random() < 0.2 else {}
            return start.spread(key, other, maxSkew=draw.randint(1, 2), **policy, **least)
        case 2 | 3:
            return start.affinity(draw.choice([ZONE, key]), other)
        case 4:
            return start.limits(memory=draw.choice(["1Gi", "2Gi", "3500Mi"]))
        case 5:
            return start.annotation("tradewind.dev/durable-share", draw.choice(["0.3", "0.5"]))
        case _:
            return start.anti_affinity(HOST, other)


@pytest.mark.parametrize("seed", range(150))
def test_every_order_of_a_wave_is_accepted(seed: int) -> None:
    draw = random.Random(seed)
    nodes, pods = draw_cluster(draw) if seed % 3 == 0 else (_draw_nodes(draw), _draw_pods(draw))
    plan = _plan(filled(nodes, pods), solve=seed % 5 == 0)
    for _ in range(4):
        order = _shuffled(draw, plan)
        assert violations(filled(nodes, pods), policy_of, order) == []


def _zones(each_zone: int) -> list[NodeBuilder]:
    return [node(f"{zone}{number}").label(ZONE, zone) for zone in "abc" for number in range(each_zone)]


def _waves(plan: Plan) -> list[int]:
    """How many pods each wave has."""
    counts = Counter(each.wave for each in plan.placements)
    return [counts[number] for number in range(max(counts, default=-1) + 1)]


def test_pods_without_ties_are_one_wave() -> None:
    pods = [*copies(pod("p").requests(cpu="100m"), "p", 60), *copies(pod("q").requests(cpu="1"), "q", 5)]
    assert _waves(planned(_zones(2), pods)) == [65]


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(pod("p").label("app", "p").anti_affinity(HOST, {"app": "p"}), id="anti-affinity"),
        pytest.param(pod("p").host_port(80), id="host ports"),
        pytest.param(pod("p").annotation(hints.ONE_PER_NODE, "true"), id="one a node"),
        pytest.param(pod("p").annotation("tradewind.dev/gang", "g"), id="a gang"),
        pytest.param(pod("p").limits(memory="1Gi"), id="limits that fit in any order"),
    ],
)
def test_rules_that_only_get_tighter_need_no_waves(start: PodBuilder) -> None:
    assert _waves(planned(_zones(2), copies(start.requests(cpu="1"), "p", 4))) == [4]


@pytest.mark.parametrize(("skew", "expected"), [(1, [3, 3, 1]), (2, [6, 1]), (3, [7])])
def test_a_spread_rises_level_by_level(skew: int, expected: list[int]) -> None:
    """7 pods over three zones: 3, 2 and 2."""
    start = pod("p").label("app", "p").requests(cpu="1").spread(ZONE, {"app": "p"}, maxSkew=skew)
    one_a_node = copies(start.anti_affinity(HOST, {"app": "p"}), "p", 7)
    nodes = [each for each in _zones(3) if each.build().name not in {"b2", "c2"}]
    assert _waves(planned(nodes, one_a_node)) == expected


def test_followers_come_after_their_anchors() -> None:
    anchor = pod("anchor").label("app", "a").requests(cpu="1")
    followers = copies(pod("f").label("app", "f").requests(cpu="100m").affinity(HOST, {"app": "a"}), "f", 3)
    plain = copies(pod("p").requests(cpu="100m"), "p", 5)
    assert _waves(planned(_zones(1), [*followers, anchor, *plain])) == [6, 3]


def test_the_first_of_a_kind_that_wants_to_be_together_come_together() -> None:
    start = pod("p").label("app", "p").requests(cpu="500m").affinity(ZONE, {"app": "p"})
    assert _waves(planned(_zones(1), copies(start, "p", 6))) == [6]


def test_spot_nodes_come_after_the_durable_ones_that_a_floor_asks_for() -> None:
    nodes = [node("d").cpu("1").price(9), node("s").cpu("8").label("karpenter.sh/capacity-type", "spot")]
    start = (
        pod("p")
        .owner("ReplicaSet", "p", "p")
        .requests(cpu="500m")
        .annotation("tradewind.dev/durable-min", "2")
    )
    assert _waves(planned(nodes, copies(start, "p", 6))) == [2, 4]


def test_a_floor_counts_all_spot_pods_of_a_wave() -> None:
    """Half of them durable: on top of two durable ones two may be on spot nodes, whichever comes first."""
    spot = [node(f"s{n}").cpu("1").label("karpenter.sh/capacity-type", "spot") for n in range(2)]
    start = pod("p").owner("ReplicaSet", "p", "p").requests(cpu="500m")
    start = start.annotation("tradewind.dev/durable-share", "0.5")
    old = [each.on("d") for each in copies(start, "old", 2)]
    found = planned([node("d").cpu("2"), *spot], [*old, *copies(start, "p", 6)])
    assert _waves(found) == [4, 2]
