"""The score of the standing plan's guide, with worked arithmetic."""

import pytest

from scoring.scorers.guide import GuideScore
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.guide import Guide, GuidedKind, Role

_WANTED = pod("wanted").requests(cpu="1")


def _guide(bid: float, role: Role, *names: str, own_pods: int = 0) -> GuidedKind:
    return GuidedKind(bids={"cpu": bid}, needed=1, own_pods=own_pods, roles={role: list(names)})


def _scores(
    nodes: list[NodeBuilder],
    kinds: list[GuidedKind] | None,
    pods: list[PodBuilder] | None = None,
    wanted: PodBuilder = _WANTED,
) -> list[float]:
    cache = Cache(offer_of)
    for each in nodes:
        cache.apply_node(each.build())
    for placed in pods or []:
        cache.apply_pod(placed.build())
    cache.follow_guide(None if kinds is None else Guide(version=1, solved_at=0, until=9, kinds=kinds))
    return list(GuideScore().score(wanted.build(), cache.snapshot().nodes))


def _node(name: str, price: float = 0.4) -> NodeBuilder:
    return node(name).cpu("4").price(price)


def _on(*names: str) -> list[PodBuilder]:
    return [pod(f"on-{name}").requests(cpu="100m").on(name) for name in names]


def test_without_a_guide_all_nodes_are_equal() -> None:
    assert _scores([_node("a"), _node("b", 9.0)], None) == [0.0, 0.0]


def test_the_lowest_bid_is_best_and_the_others_by_how_often_it_goes_into_theirs() -> None:
    """A core is worth 0.1 and 0.2 dollars: 1 and 1/2."""
    kinds = [_guide(0.1e-3, Role.FILL, "a"), _guide(0.2e-3, Role.FILL, "b")]
    assert _scores([_node("a"), _node("b")], kinds, _on("a", "b")) == pytest.approx([1.0, 0.5])


def test_room_is_worth_no_less_than_it_costs() -> None:
    """No bid on either, but a quarter of the node at 0.4 and at 1.6 dollars."""
    kinds = [_guide(0.0, Role.FILL, "a", "b")]
    assert _scores([_node("a"), _node("b", 1.6)], kinds, _on("a", "b")) == pytest.approx([1.0, 0.25])


def test_a_pod_pays_for_the_room_that_it_makes_useless() -> None:
    """Cores are worth 0.1 dollars, memory nothing. Half of it is half of a's 4 cores, a quarter of b's 8."""
    kinds = [_guide(0.1e-3, Role.FILL, "a", "b")]
    nodes = [_node("a").memory("16Gi"), node("b").cpu("8").memory("32Gi").price(0.4)]
    wanted = pod("wanted").requests(cpu="100m", memory="8Gi")
    assert _scores(nodes, kinds, _on("a", "b"), wanted) == pytest.approx([1.0, 1.0])
    wanted = pod("wanted").requests(cpu="2", memory="8Gi")
    assert _scores([nodes[0], nodes[1].memory("16Gi")], kinds, _on("a", "b"), wanted) == pytest.approx(
        [1.0, 0.5]
    )


@pytest.mark.parametrize(
    ("role", "used", "own_pods", "score"),
    [
        (Role.FILL, True, 0, 1.0),
        (Role.KEEP, False, 0, 0.75),
        (Role.DRAIN, True, 0, 0.85),
        (Role.DRAIN, False, 0, 0.6),
        pytest.param(Role.FILL, True, 1, 0.75, id="the one pod is of a DaemonSet"),
    ],
)
def test_a_quarter_less_each_for_a_node_to_drain_and_for_an_empty_one(
    role: Role, used: bool, own_pods: int, score: float
) -> None:
    kinds = [_guide(0.2e-3, role, "a", own_pods=own_pods)]
    assert _scores([_node("a")], kinds, _on("a") if used else []) == pytest.approx([score])


def test_pods_of_high_priority_are_led_to_durable_nodes_only() -> None:
    spot = _node("spot", 0.1).label("karpenter.sh/capacity-type", "spot")
    kinds = [_guide(0.1e-3, Role.FILL, "spot"), _guide(0.4e-3, Role.FILL, "durable")]
    critical = _WANTED.field("spec", "priority", value=1000)
    nodes, used = [spot, _node("durable")], _on("spot", "durable")
    assert _scores(nodes, kinds, used, critical) == pytest.approx([0.0, 0.25])
    assert _scores(nodes, kinds, used) == pytest.approx([1.0, 0.25])


def test_a_node_that_the_guide_does_not_know_counts_by_its_price() -> None:
    """0.1 dollars on a; a quarter of 0.8 on the new one, and half of the rest: 1/5, less a quarter."""
    kinds = [_guide(0.1e-3, Role.FILL, "a")]
    assert _scores([_node("a"), _node("new", 0.8)], kinds, _on("a")) == pytest.approx([1.0, 0.15])


@pytest.mark.parametrize(
    ("waiting", "seconds", "scores"),
    [
        # 0.1 and 0.075 for the pod, and half of the other 0.3 and 1.125: 0.25 and 0.6375
        pytest.param([], 9.0, [0.75, 0.75 * 0.25 / 0.6375], id="nobody waits: the smaller one is opened"),
        # 11 cores fill the small one, and leave 0.375 - 0.075 of the large one: 0.1 and 0.225
        pytest.param(["5", "6"], 9.0, [0.75, 0.75 * 0.1 / 0.225], id="those that wait will use some of it"),
        pytest.param(["8", "8"], 9.0, [0.75 * 0.75, 0.75], id="and all of it"),
        pytest.param(["1"], 0.01, [0.75 * 0.75, 0.75], id="pods keep coming: the cheaper room is opened"),
    ],
)
def test_who_opens_a_node_pays_for_half_of_what_nobody_will_use(
    waiting: list[str], seconds: float, scores: list[float]
) -> None:
    """4 cores at 0.4 dollars and 16 at 1.2."""
    now, nodes = [0.0], [_node("small"), node("large").cpu("16").price(1.2)]
    cache = Cache(offer_of, lambda: now[0])
    for each in nodes:
        cache.apply_node(each.build())
    for number, cores in enumerate(waiting):
        cache.apply_pod(pod(f"w{number}").requests(cpu=cores).build())
    kinds = [_guide(0.0, Role.KEEP, "small", "large")]
    cache.follow_guide(Guide(version=1, solved_at=0, until=9, kinds=kinds))
    now[0] = seconds
    found = GuideScore().score(_WANTED.build(), cache.snapshot().nodes)
    assert list(found) == pytest.approx(scores)


def test_nothing_known_is_neutral() -> None:
    assert _scores([node("a"), node("b")], []) == [0.0, 0.0]
