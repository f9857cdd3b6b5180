"""Who is planned for, in which batch, and who goes first: nobody waits for ever, no tenant takes all."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import PodBuilder, node, pod
from tests.planner.cases import copies, filled, policy_of
from tradewind.cluster.objects import Pod
from tradewind.planner import gate, plan_annotation
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.planner import plan
from tradewind.planner.problem import Outcome, placed_counts
from tradewind.planner.selection import choose, favour, in_flight, overdue, waiting

NOW = 1_000_000.0
OURS = {"name": gate.GATE}
OLD = {"name": gate.OLD_GATE}
THEIRS = {"name": "example.com/quota"}


def _gated(*gates: Mapping[str, str]) -> PodBuilder:
    return pod("p").field("spec", "schedulingGates", value=list(gates))


def _planned(start: PodBuilder, until: float) -> PodBuilder:
    return start.annotation(plan_annotation.ANNOTATION, plan_annotation.PlanAnnotation("n", until).text())


@pytest.mark.parametrize(
    ("start", "waits"),
    [
        pytest.param(_gated(OURS), True, id="held by us"),
        pytest.param(_gated(OURS).field("spec", "schedulerName", value="x"), True, id="for any scheduler"),
        pytest.param(_gated(OLD), True, id="held by the gate of the version before"),
        pytest.param(_gated(OLD, OURS), True, id="held by both"),
        pytest.param(_gated(OLD, THEIRS), False, id="not the old one with another"),
        pytest.param(_gated(OURS, THEIRS), False, id="not while another gate holds it too"),
        pytest.param(_gated(THEIRS), False, id="not if only another gate holds it"),
        pytest.param(pod("p"), True, id="pending"),
        pytest.param(pod("p").field("spec", "schedulerName", value="x"), False, id="not of other schedulers"),
        pytest.param(pod("p").on("n"), False, id="not on a node"),
        pytest.param(pod("p").phase("Failed"), False, id="not finished"),
        pytest.param(_gated(OURS).deleting(), False, id="not on its way out"),
        pytest.param(_planned(pod("p"), NOW + 1), False, id="not in flight"),
        pytest.param(_planned(pod("p"), NOW), True, id="with a plan that is over"),
        pytest.param(_planned(_gated(OURS), NOW + 1), True, id="with a plan but still held"),
        pytest.param(
            pod("p").annotation(plan_annotation.ANNOTATION, "{}"), True, id="with a plan without sense"
        ),
    ],
)
def test_who_waits(start: PodBuilder, waits: bool) -> None:
    built = start.build()
    assert waiting([built], {"default-scheduler"}, NOW) == ([built] if waits else [])


def test_a_pod_in_flight_counts_as_on_its_node() -> None:
    flying = _planned(pod("a"), NOW + 1).build()
    others = [
        _planned(pod("b"), NOW),
        _planned(pod("c"), NOW + 1).on("m"),
        _planned(_gated(OURS), NOW + 1),
        pod("d"),
    ]
    found = in_flight([flying, *(each.build() for each in others)], NOW)
    assert [(each.name, each.node_name) for each in found] == [("a", "n")]


def _pods(namespace: str, count: int, *, priority: int = 0, gang: str = "") -> list[Pod]:
    start = pod("x").namespace(namespace).requests(cpu="1").priority(priority)
    if gang:
        start = start.annotation("tradewind.dev/gang", gang)
    names = [f"{namespace}-{gang}{priority}-{number}" for number in range(count)]
    return [start.field("metadata", "name", value=name).uid(name).build() for name in names]


def _by_namespace(pods: Iterable[Pod]) -> Counter[str]:
    return Counter(each.namespace for each in pods)


def test_priority_comes_before_age() -> None:
    old, urgent = _pods("a", 9), _pods("a", 5, priority=10)
    chosen = choose([*old, *urgent], {each.uid: 1e6 for each in old}, 5, 1)
    assert [each.uid for each in chosen] == [each.uid for each in urgent]


def test_of_equal_priority_those_come_first_that_waited_longest() -> None:
    pods = _pods("a", 10)
    waited = {each.uid: float(number % 5) for number, each in enumerate(pods)}
    assert {each.name for each in choose(pods, waited, 4, 1)} == {"a-0-3", "a-0-4", "a-0-8", "a-0-9"}


def test_a_tenant_gets_its_share_while_others_wait() -> None:
    """At 20 pods a batch a share of a quarter is 5; the 2 that go by age are of the oldest."""
    pods = [*_pods("a", 100), *_pods("b", 100), *_pods("c", 3)]
    chosen = choose(pods, {each.uid: 9.0 for each in pods[:100]}, 20, 0.25)
    assert _by_namespace(chosen) == {"a": 5 + 5 + 2, "b": 5, "c": 3}


def test_what_a_tenant_does_not_use_goes_to_the_others_in_equal_turns() -> None:
    pods = [*_pods("a", 100), *_pods("b", 100), *_pods("c", 1)]
    assert _by_namespace(choose(pods, {}, 9, 0.25)) == {"a": 4, "b": 4, "c": 1}
    assert len(choose(_pods("a", 100), {}, 9, 0.25)) == 9


def test_a_gang_is_taken_whole_or_not_at_all() -> None:
    pods = [*_pods("a", 4), *_pods("b", 4, gang="g")]
    old = {each.uid: 5.0 for each in pods[:4]}
    assert _by_namespace(choose(pods, old, 5, 1)) == {"a": 4}
    assert _by_namespace(choose(pods, {pods[-1].uid: 9.0}, 5, 1)) == {"b": 4, "a": 1}


def test_a_gang_larger_than_a_batch_is_taken_alone() -> None:
    pods = [*_pods("a", 4), *_pods("b", 30, gang="g")]
    assert _by_namespace(choose(pods, {pods[-1].uid: 9.0}, 20, 0.5)) == {"b": 30}
    assert _by_namespace(choose(pods, {pods[0].uid: 9.0}, 20, 0.5)) == {"a": 4}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    most=st.integers(10, 40),
    share=st.sampled_from([0.1, 0.5, 1.0]),
    priorities=st.sampled_from([(0,), (0, 0, 5), (-5, 0, 10)]),
)
def test_every_pod_is_in_a_batch_sooner_or_later(
    seed: int, most: int, share: float, priorities: tuple[int, ...]
) -> None:
    """More pods come each round than a batch holds, and many of them find no place and stay."""
    draw = random.Random(seed)
    # Under pods of higher priority only so many go by age.
    gang = draw.choice([0, draw.randint(1, most + 5 if len(set(priorities)) == 1 else most // 10)])
    watched = _pods("watched", gang or 1, priority=min(priorities), gang="g" if gang else "")
    pods: list[Pod] = []
    looked_at: dict[str, int] = {}  # round of the last batch, or of coming
    for turn in range(80):
        new = [
            _pod(f"{turn}-{number}", f"t{draw.randrange(3)}", draw.choice(priorities))
            for number in range(most + draw.randint(0, 3))
        ]
        new += watched if turn == 3 else []
        pods += new
        looked_at |= {each.uid: turn for each in new}
        waited = {each.uid: float(turn - looked_at[each.uid]) for each in pods}
        chosen = choose(pods, waited, most, share)
        assert len({each.uid for each in chosen}) == len(chosen)
        assert len(chosen) <= most or {each.gang for each in chosen} == {"g"}
        if any(each.namespace == "watched" for each in chosen):
            assert {each.uid for each in watched} <= {each.uid for each in chosen}
            return
        stuck = {each.uid for each in chosen if draw.random() < 0.3}
        looked_at |= dict.fromkeys(stuck, turn)
        done = {each.uid for each in chosen} - stuck
        pods = [each for each in pods if each.uid not in done]
    pytest.fail("never in a batch")


def _pod(uid: str, namespace: str, priority: int) -> Pod:
    return pod(uid).namespace(namespace).priority(priority).requests(cpu="1").uid(uid).build()


def test_favour_is_for_age_and_then_for_the_share() -> None:
    pods = [*_pods("a", 8), *_pods("b", 2)]
    waited = {pods[0].uid: 16.0, pods[1].uid: 15.0}
    levels = favour(pods, waited, 30, 0.5)
    assert [levels[each.uid] for each in pods] == [2, 1, 0, 0, 0, 0, 0, 0, 1, 1]


def test_one_tenant_alone_is_within_its_share() -> None:
    assert set(favour(_pods("a", 8), {}, 30, 0.5).values()) == {1}
    assert favour([], {}, 30, 0.5) == {}


def test_a_gang_has_one_favour() -> None:
    pods = [*_pods("a", 4, gang="g"), *_pods("a", 3), *_pods("b", 5)]
    for waited in ({}, {pods[3].uid: 20.0}):
        levels = favour(pods, waited, 30, 0.4)
        assert len({levels[each.uid] for each in pods[:4]}) == 1


def test_a_gang_is_overdue_as_a_whole() -> None:
    pods = [*_pods("a", 3, gang="g"), *_pods("a", 2)]
    waited = {pods[1].uid: 30.0, pods[3].uid: 29.9}
    assert overdue(pods, waited, 30) == pods[:3]


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("solve", [False, True], ids=["greedy", "solved"])
def test_a_tenant_with_many_pods_does_not_keep_out_another(share: float, solve: bool) -> None:
    many = copies(pod("m").namespace("many").requests(cpu="1"), "m", 1000)
    few = copies(pod("f").namespace("few").requests(cpu="1"), "f", 10)
    cache = filled([node(f"n{number}").cpu("50") for number in range(10)], [*many, *few])
    levels = favour(cache.waiting(), {}, 30, share)
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, favour=levels)
    problem = found.batch.problem
    outcomes = [Outcome(found.assignment, "greedy")]
    if solve:
        optimise(problem, {}, 3, outcomes.append)
    counts = placed_counts(problem, outcomes[-1].assignment)
    spaces = Counter[str]()
    for group, count in zip(found.batch.groups, counts, strict=True):
        spaces[group.pod.namespace] += count
    assert spaces == {"few": 10, "many": 490}


def test_a_pod_that_waited_goes_before_many_that_did_not() -> None:
    small = copies(pod("small").requests(cpu="1"), "small", 8)
    large = pod("large").requests(cpu="8")
    cache = filled([node("n").cpu("8")], [*small, large])
    for level, placed in ((0, 8), (2, 1)):
        found = plan(
            cache.snapshot(), cache.all_pods(), policy_of, None, 1, favour={large.build().uid: level}
        )
        outcomes = [Outcome(greedy(found.batch.problem), "greedy")]
        optimise(found.batch.problem, outcomes[0].assignment, 3, outcomes.append)
        assert sum(outcomes[-1].assignment.values()) == placed


def test_favour_divides_no_class_while_there_is_room_for_all() -> None:
    pods = copies(pod("p").requests(cpu="1"), "p", 6)
    levels = {each.build().uid: number % 3 for number, each in enumerate(pods)}
    for cores, classes in (("6", 1), ("5", 3)):
        cache = filled([node("n").cpu(cores)], pods)
        found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, favour=levels)
        assert len(found.batch.groups) == classes


def test_no_favour_outweighs_a_priority() -> None:
    def worths(*levels: tuple[int, int, int]) -> Sequence[int]:
        pods = [
            each.field("metadata", "labels", value={"level": str(number)}).priority(priority)
            for number, (priority, _, count) in enumerate(levels)
            for each in copies(pod("x").requests(cpu="1"), f"x{number}", count)
        ]
        cache = filled([node("n")], pods)
        levelled = {each.uid: levels[int(each.labels["level"])][1] for each in cache.all_pods()}
        found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, favour=levelled)
        by_level = {
            (group.pod.priority, group.favour): value
            for group, value in zip(found.batch.groups, found.batch.problem.worth, strict=True)
        }
        return [by_level[priority, level] for priority, level, _ in levels]

    # 3 pods at 1; one more than these; one more than 3 x 1 + 2 x 4 = 11; above 11 + 12.
    assert worths((0, 0, 3), (0, 1, 2), (0, 2, 1), (5, 0, 1)) == [1, 4, 12, 24]
    # No more than 16 times the level below.
    assert worths((0, 0, 40), (0, 1, 1), (5, 0, 1)) == [1, 16, 57]
