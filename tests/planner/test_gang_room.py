"""Whether a whole gang fits at once, by every rule that holds for its members."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.filters.gang import Gang
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, copies, filled, policy_of
from tests.scoring.drawn import UNHURRIED
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.planner.gang_room import GangRoom, WholeGangFits, with_gang


@pytest.fixture(autouse=True, scope="module")
def _busy_machine() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tradewind.planner.gang_room._SECONDS", 60.0)
        yield


def _gang(count: int, cpu: str = "1") -> list[PodBuilder]:
    start = pod("g").requests(cpu=cpu).annotation("tradewind.dev/gang", "ring").label("app", "g")
    return copies(start.annotation(hints.GANG_MIN, str(count)), "g", count)


def _passing(nodes: list[NodeBuilder], pods: list[PodBuilder], number: int = -1) -> str:
    """The nodes to which one member may go."""
    columns = filled(nodes, pods).snapshot().nodes
    mask = WholeGangFits(GangRoom(policy_of)).feasible(pods[number].build(), columns)
    return " ".join(name for name, passed in zip(columns.names, mask, strict=True) if passed)


_TWO = [node("a").cpu("2"), node("b").cpu("2")]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param(_gang(4), "a b", id="exactly"),
        pytest.param(_gang(5), "", id="one too many"),
        pytest.param([each.anti_affinity(HOST, {"app": "g"}) for each in _gang(2)], "a or b", id="apart"),
        pytest.param([each.anti_affinity(HOST, {"app": "g"}) for each in _gang(3)], "", id="three apart"),
        pytest.param([each.host_port(80) for each in _gang(3)], "", id="a port each"),
        pytest.param([each.node_selector(HOST, "a") for each in _gang(2)], "a", id="on one node"),
        pytest.param([each.node_selector(HOST, "a") for each in _gang(3)], "", id="too many on one node"),
        pytest.param(
            [each.annotation(hints.ONE_PER_NODE, "true") for each in _gang(3)], "", id="one per node"
        ),
        pytest.param([each.affinity(HOST, {"app": "g"}) for each in _gang(3)], "", id="all on one node"),
        pytest.param([*_gang(2)[:1], *_gang(2, "2")[1:]], "a or b", id="of two sizes"),
    ],
)
def test_room_for_all_of_them(members: list[PodBuilder], expected: str) -> None:
    assert _passing(_TWO, members) in expected.split(" or ")


def test_what_others_hold_is_taken() -> None:
    assert _passing(_TWO, [pod("other").requests(cpu="1").on("b"), *_gang(4)]) == ""


def test_members_of_a_gang_that_was_placed_before_may_go_anywhere() -> None:
    members = _gang(5)
    assert _passing(_TWO, members) == ""
    assert _passing(_TWO, [members[0].on("a"), *members[1:]]) == "a b"
    assert _passing(_TWO, [members[0].on("a").phase("Succeeded"), members[-1]]) == "a b"


def test_room_is_found_once_for_all_members_of_one_state() -> None:
    asked: list[str] = []

    def counting(pod: Pod) -> object:
        asked.append(pod.name)
        return policy_of(pod)

    members = _gang(4)
    nodes = filled(_TWO, members).snapshot().nodes
    rule = WholeGangFits(GangRoom(counting))  # type: ignore[arg-type]  # it gives policies
    for member in members:
        assert rule.feasible(member.build(), nodes).all()
    assert len(asked) == 1  # they are alike


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 6),
    st.data(),
)
@settings(UNHURRIED, max_examples=60)
def test_whatever_node_the_first_member_takes_the_others_have_theirs(
    cores: list[int], count: int, data: st.DataObject
) -> None:
    """The first goes to any node that passes, the others where room is reserved for them."""
    nodes = [node(f"n{i}").cpu(str(cpu)) for i, cpu in enumerate(cores)]
    sizes = data.draw(st.lists(st.sampled_from(["1", "2"]), min_size=count, max_size=count))
    members = [each.requests(cpu=size) for each, size in zip(_gang(count), sizes, strict=True)]
    cache, rule = filled(nodes, members), WholeGangFits(GangRoom(policy_of))
    columns = cache.snapshot().nodes
    passing = np.flatnonzero(rule.feasible(members[0].build(), columns))
    if passing.size:
        name = columns.names[data.draw(st.sampled_from(passing.tolist()))]
        others = rule.others(members[0].build(), name, columns)
        assert len(others) == count - 1
        for placed in (members[0].on(name).build(), *others):
            cache.apply_pod(placed)
    free = cache.snapshot().nodes.free_of("cpu")
    assert free is not None
    assert (free >= 0).all()


def test_who_switched_gangs_off_is_not_asked_to_wait() -> None:
    member = _gang(5)[0].build()
    policy = policy_of(member)
    assert any(
        isinstance(rule, WholeGangFits) for rule in with_gang(policy, member, GangRoom(policy_of)).filters
    )
    off = type(policy)(tuple(r for r in policy.filters if not isinstance(r, Gang)), policy.scorers)
    assert with_gang(off, member, GangRoom(policy_of)) is off
    plain = pod("p").build()
    assert with_gang(policy, plain, GangRoom(policy_of)) is policy


def test_zones_of_a_gang_are_kept() -> None:
    """Affinity to itself by zone: four fit in one zone of two nodes, never in two zones of one."""
    nodes = [node("a").cpu("2").label(ZONE, "x"), node("b").cpu("2").label(ZONE, "y")]
    together = [each.affinity(ZONE, {"app": "g"}) for each in _gang(4)]
    assert _passing(nodes, together) == ""
    wider = [*nodes, node("c").cpu("2").label(ZONE, "y")]
    assert _passing(wider, together) in {"b", "c"}


@pytest.mark.parametrize(
    "members",
    [
        pytest.param(_gang(5), id="alike"),
        pytest.param([each.affinity(HOST, {"app": "g"}) for each in _gang(5)], id="all on one node"),
    ],
)
def test_members_of_a_gang_that_takes_too_long_are_placed_pod_by_pod(
    members: list[PodBuilder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all of a gang may be is tried one node after the other; the pods of other tenants wait."""
    assert _passing(_TWO, members) == ""
    monkeypatch.setattr("tradewind.planner.gang_room._SECONDS", -1.0)
    assert _passing(_TWO, members) == "a b"
