"""What Firmament, Poseidon and Fleet were asked to do, and where their ways fail."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, copies, planned, where
from tradewind.cluster import hints
from tradewind.planner.settings import Engine

_ENGINES = pytest.mark.parametrize("engine", ["auto", "flow"])
_PRICES = pytest.mark.parametrize("prices", [(1, 1, 1), (0.5, 0.52, 0.48)], ids=["equal", "different"])


@_PRICES
@_ENGINES
def test_a_pod_gets_its_best_node_although_its_opponent_can_use_only_the_other(
    engine: Engine, prices: Sequence[float]
) -> None:
    """Arcs to the nodes that both can use, as an aggregate of the two has them, would send both to m0."""
    nodes = [node("m0").price(prices[0]), node("m1").price(prices[1]).label("disk", "ssd")]
    label = {"security": "s1"}
    p1 = pod("p1").label("security", "s1").requests(cpu="1").anti_affinity(HOST, label)
    p1 = p1.node_term({"key": "disk", "operator": "In", "values": ["ssd"]}).node_term(
        {"key": HOST, "operator": "In", "values": ["m0"]}
    )
    p2 = (
        pod("p2")
        .label("security", "s1")
        .requests(cpu="2")
        .anti_affinity(HOST, label)
        .node_selector(HOST, "m0")
    )
    for order in ([p1, p2], [p2, p1]):
        assert where(planned(nodes, order, engine=engine)) == {"p1": "m1", "p2": "m0"}


@_PRICES
@_ENGINES
def test_a_pod_apart_from_two_groups_shares_a_node_with_neither(
    engine: Engine, prices: Sequence[float]
) -> None:
    nodes = [node("m0").price(prices[0]), node("m1").price(prices[1])]
    p1 = pod("p1").label("s1", "y").label("s2", "y").requests(cpu="1")
    p1 = p1.anti_affinity(HOST, {"s1": "y"}).anti_affinity(HOST, {"s2": "y"})
    p2 = pod("p2").label("s1", "y").requests(cpu="500m").anti_affinity(HOST, {"s1": "y"})
    p3 = pod("p3").label("s2", "y").requests(cpu="250m").anti_affinity(HOST, {"s2": "y"})
    places = where(planned(nodes, [p2, p3, p1], engine=engine))
    assert len(places) == 3
    assert places["p2"] == places["p3"] != places["p1"]


@_PRICES
@_ENGINES
def test_preferred_nodes_are_exhausted_first_and_the_surplus_stays_unscheduled(
    engine: Engine, prices: Sequence[float]
) -> None:
    nodes = [node("m0"), node("m1"), node("m2").label("disktype", "hdd")]
    nodes = [each.cpu("2").price(price) for each, price in zip(nodes, prices, strict=True)]
    nodes[:2] = [each.label("disktype", "ssd") for each in nodes[:2]]
    start = pod("t").requests(cpu="1").annotation("tradewind.dev/disk-type", "ssd")
    soft = start.annotation("tradewind.dev/disk-type-policy", "preferred")
    from_config = planned(nodes, copies(soft, "t", 5), engine=engine)
    assert sorted(where(from_config).values()) == ["m0", "m0", "m1", "m1", "m2"]
    hard = [each.node_selector("disktype", "ssd") for each in copies(pod("t").requests(cpu="1"), "t", 5)]
    plan = planned(nodes, hard, engine=engine)
    assert sorted(where(plan).values()) == ["m0", "m0", "m1", "m1"]
    [reason] = plan.unplaced.values()
    assert "cpu" in reason


@_PRICES
def test_preferred_zones_are_kept_by_the_flow_as_often_as_by_the_default_engine(
    prices: Sequence[float],
) -> None:
    """Each zone has room for the third of the pods that prefers it, in part on nodes that are in use.

    A preference of weight 1 may lose to a price, so preferences count by their weights.
    """
    weights = [1 + 33 * (number % 4) for number in range(200)]
    nodes = [
        node(f"n{number:02}").cpu("8").label(ZONE, f"z{number % 3}").price(prices[number % 3])
        for number in range(45)
    ]
    running = [pod(f"r{n}").requests(cpu=f"{n % 4}").on(f"n{n:02}") for n in range(1, 45, 2) if n % 4]
    pods = []
    for number in range(200):
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"z{number % 3}"]}]}
        start = pod(f"p{number}").requests(cpu="1")
        pods.append(
            start.field(
                "spec",
                "affinity",
                "nodeAffinity",
                "preferredDuringSchedulingIgnoredDuringExecution",
                value=[{"weight": weights[number], "preference": term}],
            )
        )
    kept = {}
    engines: list[Engine] = ["auto", "flow"]
    for engine in engines:
        places = where(planned(nodes, [*running, *pods], engine=engine))
        assert len(places) == 200
        kept[engine] = sum(weights[n] for n in range(200) if int(places[f"p{n}"][1:]) % 3 == n % 3)
    assert kept["flow"] >= 0.95 * kept["auto"]


@pytest.mark.parametrize("order", [1, -1], ids=["the weaker wish first", "the stronger wish first"])
@_ENGINES
def test_of_two_pods_the_one_that_wants_the_gpu_node_more_gets_it(order: int, engine: Engine) -> None:
    nodes = [node("gpu").label("disktype", "gpu").cpu("1"), node("plain").cpu("1")]
    indifferent = pod("indifferent").requests(cpu="1")
    keen = pod("keen").requests(cpu="1").annotation("tradewind.dev/disk-type", "gpu")
    keen = keen.annotation("tradewind.dev/disk-type-policy", "preferred")
    places = where(planned(nodes, [indifferent, keen][::order], engine=engine))
    assert places == {"keen": "gpu", "indifferent": "plain"}


def test_one_unplaceable_pod_among_500_blocks_nobody_and_says_why() -> None:
    nodes = [node(f"n{number}").cpu("16") for number in range(20)]
    odd = pod("odd").requests(cpu="100m").node_selector("disk", "tape")
    pods = [*copies(pod("p").requests(cpu="500m"), "p", 499), odd]
    plan = planned(nodes, pods)
    assert len(plan.placements) == 499
    assert set(plan.unplaced) == {"default/odd"}
    assert "node_affinity" in plan.unplaced["default/odd"]


class TestFleet:
    def test_machine_id(self) -> None:
        wanted = pod("t0").requests(cpu="1").annotation(hints.NODE, "m1")
        assert where(planned([node("m0").price(1), node("m1").price(9)], [wanted])) == {"t0": "m1"}

    def test_machine_metadata(self) -> None:
        nodes = [node("m0").price(1), node("m1").price(9).label("rack", "b")]
        wanted = pod("t0").requests(cpu="1").annotation(hints.NODE_LABELS, "rack in (b, c)")
        assert where(planned(nodes, [wanted])) == {"t0": "m1"}

    @pytest.mark.parametrize("placed", [True, False], ids=["with a placed pod", "within the batch"])
    def test_conflicts(self, placed: bool) -> None:
        nodes = [node("m0").price(1), node("m1").price(9)]
        other = pod("noisy-7").requests(cpu="1")
        wanted = pod("t0").requests(cpu="1").annotation(hints.CONFLICTS, "noisy-*")
        plan = planned(nodes, [other.on("m0") if placed else other, wanted])
        places = where(plan)
        assert places["t0"] != places.get("noisy-7", "m0")

    def test_global_puts_one_on_every_node(self) -> None:
        nodes = [node(f"m{number}") for number in range(3)]
        start = (
            pod("g").owner("ReplicaSet", "g", "g").requests(cpu="1").annotation(hints.ONE_PER_NODE, "true")
        )
        plan = planned(nodes, copies(start, "g", 4))
        assert sorted(where(plan).values()) == ["m0", "m1", "m2"]
        assert len(plan.unplaced) == 1

    def test_replaces_takes_the_node_of_the_other_and_what_it_holds(self) -> None:
        nodes = [node("m0").cpu("2"), node("m1").cpu("2")]
        old = pod("t0").requests(cpu="2").on("m1")
        new = pod("t1").requests(cpu="2").annotation(hints.REPLACES, "t0")
        assert where(planned(nodes, [old, new])) == {"t1": "m1"}

    @pytest.mark.parametrize("placed", [True, False], ids=["a placed pod", "a pod of the batch"])
    def test_machine_of(self, placed: bool) -> None:
        nodes = [node("m0").price(1).cpu("2"), node("m1").price(9).cpu("2")]
        anchor = pod("t0").requests(cpu="1").node_selector(HOST, "m1")
        follower = pod("t1").requests(cpu="1").annotation(hints.BESIDE, "t0")
        plan = planned(nodes, [follower, anchor.on("m1") if placed else anchor])
        assert where(plan)["t1"] == "m1"

    def test_machine_of_a_pod_that_does_not_exist_says_so(self) -> None:
        plan = planned([node("m0")], [pod("t1").annotation(hints.BESIDE, "t0")])
        assert "default/t0" in plan.unplaced["default/t1"]


def _gang(count: int, least: int | None = None) -> list[PodBuilder]:
    start = pod("g").requests(cpu="1").label("scheduling.x-k8s.io/pod-group", "ring")
    if least is not None:
        start = start.annotation(hints.GANG_MIN, str(least))
    return copies(start, "g", count)


@pytest.mark.parametrize("solve", [True, False], ids=["solver", "greedy"])
class TestGangs:
    def test_all_or_none(self, solve: bool) -> None:
        nodes = [node("m0").cpu("2"), node("m1").cpu("2")]
        whole = planned(nodes, _gang(4), solve=solve)
        assert len(whole.placements) == 4
        none = planned(nodes, [*_gang(5), pod("single").requests(cpu="1")], solve=solve)
        assert where(none).keys() == {"single"}
        assert "gang default/ring" in none.unplaced["default/g-1"]

    def test_a_minimum_is_enough(self, solve: bool) -> None:
        plan = planned([node("m0").cpu("2"), node("m1").cpu("2")], _gang(6, least=3), solve=solve)
        assert len(plan.placements) == 4


def test_a_gang_of_kube_scheduler_is_planned_pod_by_pod() -> None:
    """It waits for the whole group itself; a plan that held the rest back would keep it from doing so."""
    group = [each.field("spec", "schedulingGroup", "podGroupName", value="ring") for each in _gang(3)]
    assert len(planned([node("m0").cpu("2")], _gang(3)).placements) == 0
    plan = planned([node("m0").cpu("2")], group)
    assert [each.strict for each in plan.placements] == [False, False]


def test_a_gang_makes_way_for_more_worth() -> None:
    """Placing the gang of three would leave both pods of high priority out."""
    urgent = [each.priority(1000) for each in copies(pod("u").requests(cpu="2"), "u", 2)]
    plan = planned([node("m0").cpu("4")], [*_gang(3), *urgent])
    assert where(plan).keys() == {"u-1", "u-2"}


def test_of_alternatives_one_is_placed_the_best() -> None:
    dear = pod("with-gpu").requests(cpu="1").node_selector(HOST, "dear").annotation(hints.XOR, "variant")
    cheap = pod("without").requests(cpu="1").node_selector(HOST, "cheap").annotation(hints.XOR, "variant")
    plan = planned([node("dear").price(9), node("cheap").price(1)], [dear, cheap])
    assert where(plan) == {"without": "cheap"}
    assert "variant" in plan.unplaced["default/with-gpu"]


@pytest.mark.parametrize(
    ("limits", "placed", "on_one_node"),
    [(",p=3", 3, 3), (",p=3,r=1", 2, 1), (",p=4,r=2", 4, 2), (",p=9,r=9", 5, 5)],
)
def test_p_of_the_alternatives_are_placed_and_r_on_a_node(limits: str, placed: int, on_one_node: int) -> None:
    """The flow network's figures: p units pass at a time, r to one machine; there are 5 pods, 2 machines."""
    start = pod("v").requests(cpu="100m").annotation(hints.XOR, f"variant{limits}")
    plan = planned([node("m0").price(1), node("m1").price(9)], copies(start, "v", 5))
    on_nodes = Counter(where(plan).values())
    assert (len(plan.placements), max(on_nodes.values())) == (placed, on_one_node)


def test_no_more_than_r_pods_in_a_zone() -> None:
    nodes = [node(f"m{number}").label(ZONE, f"z{number % 2}") for number in range(4)]
    start = pod("z").owner("ReplicaSet", "z", "z").requests(cpu="500m").annotation(hints.MAX_PER_ZONE, "2")
    plan = planned(nodes, copies(start, "z", 5))
    zones = [int(name[1:]) % 2 for name in where(plan).values()]
    assert (zones.count(0), zones.count(1)) == (2, 2)
    assert len(plan.unplaced) == 1


def test_nodes_without_a_zone_take_any_number() -> None:
    start = pod("z").owner("ReplicaSet", "z", "z").requests(cpu="500m").annotation(hints.MAX_PER_ZONE, "1")
    plan = planned(
        [node("zoned").label(ZONE, "a"), node("m0").cpu("1"), node("m1").cpu("1")], copies(start, "z", 5)
    )
    assert Counter(where(plan).values()) == {"zoned": 1, "m0": 2, "m1": 2}


def test_higher_priority_goes_first_when_there_is_not_room_for_all() -> None:
    low = copies(pod("low").requests(cpu="1"), "low", 4)
    high = pod("high").requests(cpu="3").priority(1000)
    places = where(planned([node("m0").cpu("4")], [*low, high]))
    assert "high" in places
    assert len(places) == 2
