"""Pods counted in groups, against a naive count; and an index that finds groups without a look at each."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.builders import PodBuilder, pod
from tests.scoring.drawn import UNHURRIED
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.groups import GroupIndex
from tradewind.cluster.objects import Pod
from tradewind.cluster.placed import Placed, PlacedPods, group_of
from tradewind.cluster.wire import Requirement

_WEB = pod("web").label("app", "web")


def test_equal_pods_are_one_group_whatever_their_names() -> None:
    one, other = _WEB.on("a").build(), pod("else").label("app", "web").requests(cpu="4").on("b").build()
    assert group_of(one) == group_of(other)


def test_pods_are_told_apart_by_what_rules_look_at() -> None:
    different = [
        _WEB,
        _WEB.namespace("shop"),
        _WEB.label("app", "db"),
        _WEB.anti_affinity("zone", {"app": "web"}),
        _WEB.owner("ReplicaSet", "web", "uid"),
        _WEB.deleting(),
    ]
    assert len({group_of(each.build()) for each in different}) == len(different)


def test_what_was_handed_out_stays_as_it_was() -> None:
    pods, web = PlacedPods(), _WEB.host_port(80).on("a").build()
    pods.add(web)
    before = pods.freeze()
    pods.add(_WEB.host_port(80).uid("2").on("b").build())
    pods.remove(web)
    assert list(before.groups.values()) == [{"a": 1}]
    assert list(before.ports.values()) == [{"a": 1}]
    assert list(pods.freeze().groups.values()) == [{"b": 1}]
    assert pods.freeze() is pods.freeze()


_APPS = ("web", "db", "cache")


def _drawn_pod(app: str, namespace: str, repelled: str | None, port: int | None) -> PodBuilder:
    drawn = pod("p").namespace(namespace).label("app", app)
    drawn = drawn if repelled is None else drawn.anti_affinity("zone", {"app": repelled})
    return drawn if port is None else drawn.host_port(port)


_drawn = st.builds(
    _drawn_pod,
    st.sampled_from(_APPS),
    st.sampled_from(["default", "shop"]),
    st.sampled_from([None, *_APPS]),
    st.sampled_from([None, 80, 443]),
)


class Placing(RuleBasedStateMachine):
    """Pods come and go in any order, with hand-outs in between."""

    def __init__(self) -> None:
        super().__init__()
        self.pods = PlacedPods()
        self.there = list[Pod]()
        self.handed_out = list[tuple[Placed, list[Pod]]]()

    @rule(drawn=_drawn, place=st.sampled_from(["a", "b", "c"]))
    def come(self, drawn: PodBuilder, place: str) -> None:
        self.there.append(drawn.on(place).build())
        self.pods.add(self.there[-1])

    @rule(which=st.integers(0, 99))
    def go(self, which: int) -> None:
        if self.there:
            self.pods.remove(self.there.pop(which % len(self.there)))

    @rule()
    def hand_out(self) -> None:
        self.handed_out.append((self.pods.freeze(), list(self.there)))

    @invariant()
    def hand_outs_are_the_pods_of_their_moment(self) -> None:
        for placed, there in self.handed_out:
            groups = Counter((group_of(each), each.node_name) for each in there)
            ports = Counter((port, each.node_name) for each in there for port in each.host_ports)
            assert {(k, name): n for k, on in placed.groups.items() for name, n in on.items()} == groups
            assert {(k, name): n for k, on in placed.ports.items() for name, n in on.items()} == ports

    @invariant()
    def the_index_knows_every_group_that_is_there(self) -> None:
        for placed, _ in self.handed_out:
            assert placed.groups.keys() <= set(placed.group_index.candidates((), None))


TestPlacing = Placing.TestCase
TestPlacing.settings = settings(UNHURRIED, max_examples=30, stateful_step_count=15)

_selectors = st.lists(
    st.builds(
        Requirement,
        st.just("app"),
        st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        st.lists(st.sampled_from(_APPS), min_size=1, max_size=2, unique=True).map(tuple),
    ),
    max_size=2,
).map(tuple)
_namespaces = st.none() | st.frozensets(st.sampled_from(["default", "shop", "bank"]))


@given(st.lists(_drawn), _selectors, _namespaces)
@settings(UNHURRIED)
def test_candidates_are_all_that_match(
    drawn: list[PodBuilder], selector: tuple[Requirement, ...], namespaces: frozenset[str] | None
) -> None:
    groups = {group_of(each.build()) for each in drawn}
    term = PodTerm("zone", selector, namespaces or frozenset(), () if namespaces is None else None)
    matching = {each for each in groups if term.matches(each.namespace, dict(each.labels), {})}
    candidates = GroupIndex(groups).candidates(selector, namespaces)
    assert matching <= set(candidates) <= groups
    assert len(candidates) == len(set(candidates))


@given(st.lists(_drawn), _drawn)
@settings(UNHURRIED)
def test_repelling_are_all_terms_that_match_with_all_groups_that_have_them(
    drawn: list[PodBuilder], waiting: PodBuilder
) -> None:
    groups, wanted = {group_of(each.build()) for each in drawn}, waiting.build()
    found = list(GroupIndex(groups).repelling(wanted.labels))
    for term in {term for each in groups for term in each.anti_affinity}:
        if term.matches(wanted.namespace, wanted.labels, {}):
            (having,) = [set(having) for each, having in found if each == term]
            assert having == {each for each in groups if term in each.anti_affinity}


def test_candidates_come_from_the_shortest_list() -> None:
    many = [group_of(_WEB.label("n", str(n)).build()) for n in range(10)]
    index = GroupIndex([*many, group_of(_WEB.namespace("shop").label("n", "x").build())])
    app, number = Requirement("app", "In", ("web",)), Requirement("n", "In", ("3", "4"))
    assert set(index.candidates((app, number), None)) == {many[3], many[4]}
    assert len(index.candidates((app,), frozenset({"shop"}))) == 1
    assert not index.candidates(None, None)


def test_index_is_made_anew_when_most_of_what_it_knows_is_gone() -> None:
    pods = PlacedPods()
    for number in range(200):
        passing = _WEB.label("n", str(number)).on("a").build()
        pods.add(passing)
        pods.remove(passing)
    kept = _WEB.on("a").build()
    pods.add(kept)
    assert set(pods.freeze().group_index.candidates((), None)) == {group_of(kept)}


@given(st.lists(_drawn, max_size=6), st.lists(st.lists(_drawn, max_size=3), max_size=3), _selectors, _drawn)
@settings(UNHURRIED)
def test_an_overlay_finds_what_an_index_of_all_groups_finds(
    drawn: list[PodBuilder],
    added: list[list[PodBuilder]],
    selector: tuple[Requirement, ...],
    waiting: PodBuilder,
) -> None:
    overlay = GroupIndex({group_of(each.build()) for each in drawn})
    for more in added:
        overlay = overlay.with_groups(
            {group for each in more if (group := group_of(each.build())) not in overlay}
        )
    groups = {group_of(each.build()) for each in (*drawn, *(one for more in added for one in more))}
    whole, labels = GroupIndex(groups), waiting.build().labels
    for namespaces in (None, frozenset({"shop"})):
        found = overlay.candidates(selector, namespaces)
        term = PodTerm("zone", selector, namespaces or frozenset(), () if namespaces is None else None)
        matching = {each for each in groups if term.matches(each.namespace, dict(each.labels), {})}
        assert len(found) == len(set(found))
        assert matching <= set(found) <= groups
    assert {(term, each) for term, having in overlay.repelling(labels) for each in having} == {
        (term, each) for term, having in whole.repelling(labels) for each in having
    }
    assert set(overlay.of_workload("")) == set(whole.of_workload(""))


def test_an_overlay_costs_its_own_pods_however_many_groups_there_are() -> None:
    placed = PlacedPods()
    for number in range(1_000):
        placed.add(_WEB.label("n", str(number)).on("a").build())
    overlay = placed.freeze()
    for number in range(3):
        overlay = overlay.changed([_WEB.label("new", str(number)).on("b").build()], 1)
    assert len(overlay.group_index._known) == 3
    assert len(overlay.group_index.candidates((), None)) == 1_003


def test_groups_that_are_gone_are_forgotten_the_sooner_the_larger_they_are() -> None:
    placed = PlacedPods()
    labels = {f"key-{number}": "x" for number in range(500)}
    for number in range(20):
        large = (
            pod(f"p{number}")
            .field("metadata", "labels", value={**labels, "app": f"{number}"})
            .on("n")
            .build()
        )
        placed.add(large)
        placed.remove(large)
        assert len(placed.freeze().group_index.candidates((), None)) <= 1
