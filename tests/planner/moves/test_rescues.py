"""Moves for safety: who is moved, where to, and who stays."""

from collections.abc import Sequence

import pytest

from tests.builders import NodeBuilder, PodBuilder, namespace, node, pod
from tests.planner.cases import filled, policy_of
from tradewind.cluster import bonds
from tradewind.cluster.cache import Cache
from tradewind.market.market import Market
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rescues import Rescue, rescues
from tradewind.planner.moves.rules import Rules
from tradewind.planner.settings import PlannerSettings

SPOT = ("karpenter.sh/capacity-type", "spot")
NOTICE = "aws-node-termination-handler/spot-itn"
OLD = "2026-03-01T00:00:00Z"
NOW = 1_772_625_600.0  # 2026-03-04
HELD = {"shop": namespace("shop").label("tradewind.dev/hold", "enabled").build()}
CRITICAL = 100_000


def durable(name: str) -> NodeBuilder:
    return node(name).price(2)


def spot(name: str) -> NodeBuilder:
    return node(name).price(1).label(*SPOT)


def going(name: str) -> NodeBuilder:
    return spot(name).taint(NOTICE)


def web(name: str, on: str, app: str = "web", cpu: str = "1") -> PodBuilder:
    each = pod(name).namespace("shop").uid(name).owner("ReplicaSet", app, app).requests(cpu=cpu).on(on)
    return each.field("metadata", "creationTimestamp", value=OLD).label("app", app)


def found(
    nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder], ledger: Ledger | None = None, **moves: object
) -> list[Rescue]:
    cache = Cache(Market().offer_of)
    for each_node in nodes:
        cache.apply_node(each_node.build())
    for each_pod in pods:
        cache.apply_pod(each_pod.build())
    settings = PlannerSettings.model_validate({"moves": {"mode": "act", **moves}})
    rules = Rules(settings.moves, HELD, ledger or Ledger(), NOW)
    snapshot, there = cache.state()
    return rescues(snapshot, there, policy_of, rules.terms(snapshot, there, (), settings.schedulers))


def told(rescued: Sequence[Rescue]) -> list[tuple[str, str, str]]:
    return [(cause.value, move.pod.name, move.target) for cause, each in rescued for move in each.moves]


CASES = [
    pytest.param(
        [going("gone"), spot("spot")],
        [web("a", "gone"), web("b", "spot")],
        [("notice", "a", "spot")],
        id="a pod leaves a node with a termination notice",
    ),
    pytest.param(
        [going("gone"), spot("spot")],
        [web("a", "gone")],
        [("notice", "a", "spot")],
        id="and so does a single replica, which would lose its node anyway",
    ),
    pytest.param(
        [going("gone"), spot("spot")],
        [web("a", "gone"), web("b", "gone", cpu="3"), web("c", "spot", cpu="2")],
        [("notice", "a", "spot")],
        id="those that find a place, if not all do",
    ),
    pytest.param(
        [going("gone"), going("gone-too")],
        [web("a", "gone"), web("b", "gone-too")],
        [],
        id="never to another node with a notice",
    ),
    pytest.param(
        [going("gone"), spot("spot")],
        [web("a", "gone").annotation(bonds.DO_NOT_DISRUPT, "true"), web("b", "spot")],
        [],
        id="opted out",
    ),
    pytest.param(
        [going("gone"), spot("spot")],
        [web("a", "gone").namespace("other"), web("b", "spot")],
        [],
        id="in a namespace that is not held",
    ),
    pytest.param(
        [spot("spot"), durable("durable")],
        [web("a", "spot").priority(CRITICAL), web("b", "durable")],
        [("critical", "a", "durable")],
        id="a critical pod is offered a durable node",
    ),
    pytest.param(
        [spot("spot"), spot("other")],
        [web("a", "spot").priority(CRITICAL), web("b", "other")],
        [],
        id="not another spot node",
    ),
    pytest.param(
        [spot("spot"), durable("durable")],
        [web("a", "spot").priority(CRITICAL), web("b", "durable", "db", cpu="4")],
        [],
        id="not a durable node without room",
    ),
    pytest.param(
        [spot("spot"), durable("durable")],
        [web("a", "spot").priority(999), web("b", "durable")],
        [],
        id="plain pods stay on spot nodes",
    ),
    pytest.param(
        [going("gone"), spot("spot"), durable("durable")],
        [web("a", "gone").priority(CRITICAL), web("b", "durable")],
        [("notice", "a", "durable")],
        id="a critical pod with a notice gets the durable node",
    ),
]


@pytest.mark.parametrize(("nodes", "pods", "expected"), CASES)
def test_who_is_moved_where(
    nodes: list[NodeBuilder], pods: list[PodBuilder], expected: list[tuple[str, str, str]]
) -> None:
    assert told(found(nodes, pods)) == expected


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        # 0.5 of 4 replicas are 2
        pytest.param("ssss", 2, id="all on spot"),
        pytest.param("sssd", 1, id="one is missing"),
        pytest.param("ssdd", 0, id="kept"),
    ],
)
def test_a_durable_floor_is_restored(placed: str, expected: int) -> None:
    names = {"s": "spot", "d": "durable"}
    pods = [
        web(f"w{number}", names[each], cpu="500m").annotation("tradewind.dev/durable-share", "0.5")
        for number, each in enumerate(placed)
    ]
    moved = told(found([spot("spot"), durable("durable")], pods))
    assert [(cause, target) for cause, _, target in moved] == [("floor", "durable")] * expected


def gang(name: str, on: str, cpu: str = "1") -> PodBuilder:
    return web(name, on, "mpi", cpu).annotation("tradewind.dev/gang", "mpi")


def test_a_gang_leaves_whole_or_not_at_all() -> None:
    """Both members that are on nodes with a notice, in one set; the third is safe where it is."""
    nodes = [going("gone"), going("gone-too"), spot("spot")]
    pods = [gang("g0", "gone"), gang("g1", "gone-too"), gang("g2", "spot")]
    [rescue] = found(nodes, pods)
    assert told([rescue]) == [("notice", "g0", "spot"), ("notice", "g1", "spot")]
    # 2 of 4 cores are left: one of them would fit
    crowded = [gang("g0", "gone", "2"), gang("g1", "gone-too", "2"), gang("g2", "spot", "2")]
    assert found(nodes, crowded) == []
    refused = [gang("g0", "gone"), gang("g1", "gone-too").annotation(bonds.SAFE_TO_EVICT, "false")]
    assert found(nodes, refused) == []


def test_a_gang_is_not_moved_for_less_than_a_notice() -> None:
    assert found([spot("spot"), durable("durable")], [gang("g0", "spot").priority(CRITICAL)]) == []


def test_as_many_as_the_budget_allows_and_a_gang_whole() -> None:
    nodes = [going("gone"), spot("spot"), spot("other")]
    pods = [web(f"a{n}", "gone", f"app{n}") for n in range(4)]
    assert len(told(found(nodes, pods, budget={"evictions": 3}))) == 3
    # Told whole where nothing is allowed, for the reason.
    assert len(told(found(nodes, pods, budget={"evictions": 0}))) == 4
    both = [gang("g0", "gone"), gang("g1", "gone"), web("a", "gone")]
    assert told(found(nodes, both, budget={"evictions": 1})) == [("notice", "a", "spot")]


@pytest.mark.parametrize("cause", [Cause.NOTICE, Cause.CRITICAL])
def test_causes_can_be_left_out(cause: Cause) -> None:
    nodes = [going("gone"), spot("spot"), durable("durable")]
    pods = [web("a", "gone", "x"), web("b", "spot").priority(CRITICAL), web("c", "durable")]
    others = [each.value for each in Cause if each is not cause]
    assert cause in {each.cause for each in found(nodes, pods)}
    assert cause not in {each.cause for each in found(nodes, pods, causes=others)}


def test_the_room_of_one_set_is_not_given_to_the_next() -> None:
    nodes = [spot("spot"), spot("other"), durable("durable")]
    pods = [web("a", "spot", "x", "3").priority(CRITICAL), web("b", "other", "y", "3").priority(CRITICAL)]
    pods += [web("a2", "durable", "x", "500m"), web("b2", "durable", "y", "500m")]
    assert len(told(found(nodes, pods))) == 1


def test_room_goes_to_the_highest_priorities_whichever_nodes_they_leave() -> None:
    pods = [
        web("high", "gone", "h").priority(3),
        web("low", "gone", "l").priority(1),
        web("middle", "gone-too", "m").priority(2),
    ]
    rescued = found([going("gone"), going("gone-too"), spot("spot").cpu("2")], pods)
    assert told(rescued) == [("notice", "high", "spot"), ("notice", "middle", "spot")]


def test_durable_room_goes_to_the_highest_priorities() -> None:
    nodes = [spot("spot"), spot("other"), durable("durable").cpu("2")]
    pods = [web("a", "spot", "x").priority(CRITICAL), web("b", "other", "y").priority(CRITICAL + 1)]
    pods += [web("a2", "durable", "x", "500m"), web("b2", "durable", "y", "500m")]
    assert told(found(nodes, pods)) == [("critical", "b", "durable")]


def test_without_nodes_or_pods() -> None:
    cache = filled([], [])
    rules = Rules(PlannerSettings().moves, {}, Ledger(), NOW)
    terms = rules.terms(*cache.state(), (), ())
    assert rescues(*cache.state(), policy_of, terms) == []
