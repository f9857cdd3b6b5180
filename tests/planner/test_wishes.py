"""What pods prefer, as far as a plan can follow it: about nodes, and about pods of the batch or on nodes."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.builders import NodeBuilder, PodBuilder, expression, node, pod
from tests.planner.cases import HOST, ZONE, batch_of, copies, filled, planned, where

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WAYS = pytest.mark.parametrize("solve", [True, False], ids=["engine", "greedy"])


def _about_pods(start: PodBuilder, kind: str, app: str, *, weight: int = 100, key: str = HOST) -> PodBuilder:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return start.field(
        "spec", "affinity", kind, _PREFERRED, value=[{"weight": weight, "podAffinityTerm": term}]
    )


def _about_nodes(start: PodBuilder, weight: int, key: str, value: str) -> PodBuilder:
    preference = {"matchExpressions": [expression(key, "In", value)]}
    terms = [{"weight": weight, "preference": preference}]
    return start.field("spec", "affinity", "nodeAffinity", _PREFERRED, value=terms)


def _web() -> PodBuilder:
    return pod("web").label("app", "web").requests(cpu="500m")


def _in_use(prices: Sequence[float]) -> tuple[list[NodeBuilder], list[PodBuilder]]:
    nodes = [node(f"n{number}").cpu("4").price(price) for number, price in enumerate(prices)]
    return nodes, [pod(f"old{number}").requests(cpu="100m").on(f"n{number}") for number in range(len(prices))]


@_WAYS
@pytest.mark.parametrize("prices", [(1, 1, 1), (1.0, 1.1, 1.2)], ids=["equal prices", "different prices"])
@pytest.mark.parametrize("how", ["anti-affinity", "spread"])
def test_replicas_that_prefer_to_be_apart_are(how: str, prices: Sequence[float], solve: bool) -> None:
    nodes, old = _in_use(prices)
    start = _web()
    if how == "spread":
        start = start.spread(HOST, {"app": "web"}, whenUnsatisfiable="ScheduleAnyway")
    else:
        start = _about_pods(start, "podAntiAffinity", "web")
    places = where(planned(nodes, [*old, *copies(start, "web", 3)], solve=solve))
    assert sorted(places.values()) == ["n0", "n1", "n2"]


@_WAYS
@pytest.mark.parametrize("prices", [(1, 1, 1), (1.0, 1.1, 1.2)], ids=["equal prices", "different prices"])
@pytest.mark.parametrize("order", [1, -1], ids=["it comes last", "it comes first"])
def test_a_pod_goes_to_the_pod_of_the_batch_that_it_prefers(
    prices: Sequence[float], order: int, solve: bool
) -> None:
    nodes, old = _in_use(prices)
    wanted = _web().node_selector(HOST, "n2")
    follower = _about_pods(pod("f").requests(cpu="1"), "podAffinity", "web")
    places = where(planned(nodes, [*old, *[wanted, follower][::order]], solve=solve))
    assert places == {"web": "n2", "f": "n2"}


@_WAYS
def test_replicas_that_prefer_to_be_together_are(solve: bool) -> None:
    nodes, old = _in_use((1, 1, 1))
    start = _about_pods(_web(), "podAffinity", "web")
    there = _web().uid("there").on("n1").field("metadata", "name", value="there")
    assert set(where(planned(nodes, [*old, there, *copies(start, "web", 3)], solve=solve)).values()) == {"n1"}


@_WAYS
def test_zones_even_out_with_the_pods_that_are_there(solve: bool) -> None:
    nodes = [node(f"{zone}{n}").cpu("4").label(ZONE, zone) for zone in "ab" for n in (1, 2)]
    old = [pod(f"old-{each}").requests(cpu="100m").on(each) for each in ("a1", "a2", "b1", "b2")]
    there = [_web().on("a1").uid(f"t{n}").field("metadata", "name", value=f"t{n}") for n in range(2)]
    start = _web().spread(ZONE, {"app": "web"}, whenUnsatisfiable="ScheduleAnyway")
    places = where(planned(nodes, [*old, *there, *copies(start, "web", 4)], solve=solve))
    assert Counter(name[0] for name in places.values()) == {"a": 1, "b": 3}


def test_a_spread_node_without_the_label_is_the_last_choice() -> None:
    nodes = [node("a").cpu("4").label(ZONE, "a"), node("none").cpu("4")]
    old = [pod(f"old-{each}").requests(cpu="100m").on(each) for each in ("a", "none")]
    start = _web().spread(ZONE, {"app": "web"}, whenUnsatisfiable="ScheduleAnyway")
    places = where(planned(nodes, [*old, *copies(start, "web", 3)]))
    assert set(places.values()) == {"a"}


@pytest.mark.parametrize("prices", [(1, 1), (1.0, 1.3), (None, None)], ids=["equal", "different", "unknown"])
@pytest.mark.parametrize("order", [1, -1], ids=["the weaker first", "the stronger first"])
def test_the_stronger_wish_gets_the_only_gpu_node(prices: Sequence[float | None], order: int) -> None:
    gpu, plain = node("gpu").cpu("1").label("gpu", "yes"), node("plain").cpu("1")
    nodes = [each if p is None else each.price(p) for each, p in zip((gpu, plain), prices, strict=True)]
    weak, strong = (
        _about_nodes(pod(name).requests(cpu="1"), w, "gpu", "yes")
        for name, w in (("weak", 10), ("strong", 90))
    )
    places = where(planned(nodes, [weak, strong][::order]))
    assert places == {"strong": "gpu", "weak": "plain"}


@_WAYS
def test_a_preferred_node_is_worth_small_change_but_not_a_multiple(solve: bool) -> None:
    def chosen(preferred: float) -> str:
        nodes = [
            node("preferred").cpu("4").label("x", "y").price(preferred),
            node("other").cpu("4").price(0.5),
        ]
        wanting = _about_nodes(pod("p").requests(cpu="1"), 100, "x", "y")
        return where(planned(nodes, [wanting], solve=solve))["p"]

    assert chosen(0.52) == "preferred"
    assert chosen(2.0) == "other"


def test_pods_that_a_preference_tells_apart_are_of_two_classes() -> None:
    one, two = pod("a").label("app", "web"), pod("b").label("app", "db")
    asking = _about_pods(pod("c").requests(cpu="1"), "podAffinity", "web")
    spreading = pod("d").requests(cpu="2").spread(HOST, {"tier": "x"}, whenUnsatisfiable="ScheduleAnyway")
    assert len(batch_of(filled([node("n")], [one, two])).problem.classes) == 1
    assert len(batch_of(filled([node("n")], [one, two, asking])).problem.classes) == 3
    tiers = [pod("a").label("tier", "x"), pod("b").label("tier", "y")]
    assert len(batch_of(filled([node("n")], [*tiers, spreading])).problem.classes) == 3


def test_where_terms_are_too_many_preferences_are_dropped_before_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = _about_pods(_web().anti_affinity(HOST, {"app": "db"}), "podAntiAffinity", "web")
    cache = filled(
        [node("n0").cpu("4"), node("n1").cpu("4")], [*copies(start, "web", 3), pod("db").label("app", "db")]
    )
    assert len(batch_of(cache).problem.preferences) == 1
    whole = batch_of(cache).problem
    members = sum(len(each.members()) for each in whole.relations)
    monkeypatch.setattr("tradewind.planner.batch.MAX_MEMBERS", members)
    few = batch_of(cache).problem
    assert few.preferences == ()
    assert (few.pods, len(few.relations)) == (whole.pods, len(whole.relations))


def test_pods_that_mind_each_other_pay_once_although_they_are_of_two_classes() -> None:
    start = _about_pods(_web(), "podAntiAffinity", "web")
    cache = filled(
        [node("n0").cpu("4")],
        [start.uid("a"), start.requests(cpu="250m").uid("b").field("metadata", "name", value="b")],
    )
    problem = batch_of(cache).problem
    assert len(problem.classes) == 2
    assert [len(each.counted) for each in problem.preferences] == [2]


def test_what_only_placed_pods_decide_is_in_the_cost_of_a_node() -> None:
    nodes, old = _in_use((1, 1))
    there = _web().uid("there").on("n0").field("metadata", "name", value="there")
    batch = batch_of(
        filled(nodes, [*old, there, _about_pods(pod("p").requests(cpu="1"), "podAntiAffinity", "web")])
    )
    assert batch.problem.preferences == ()
    (asking,) = batch.problem.classes
    assert asking.cost[0] - asking.cost[1] == pytest.approx(asking.wish, rel=0.1)
