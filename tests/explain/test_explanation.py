"""Why a pod is where it is: over HTTP as kube-scheduler's requests and the cluster state tell it."""

import re
from dataclasses import replace

import pytest

from extender.verbs import UNKNOWN_NODE
from scoring.filters.resources import Resources
from scoring.registry import SCORERS
from tests.builders import node, pod
from tests.explain.service import CHEAP, CHECKOUT, DEAR, REQUEST, WANTED, Service, serving, serving_example
from tradewind.cluster.guide import Guide, GuidedKind, Role
from tradewind.config.document import DEFAULT
from tradewind.explain import report
from tradewind.explain.decisions import Decisions

_RATE = "tradewind.dev/interruption-rate"


def test_the_numbers_behind_the_sentences() -> None:
    service = serving_example()
    service.schedule(CHECKOUT)
    told = service.explain(CHECKOUT)
    assert (told.best, told.placed_on, told.workload_class) == ("spot-a1", None, "default")
    assert told.weights["price"] == 2
    best = told.ranked[0]
    assert best.total == pytest.approx(sum(term.weighted for term in best.terms.values()))
    # The pod takes 1 of 3.92 cores at $0.071/h.
    assert best.dollars_an_hour == pytest.approx(0.071 / 3.92)
    assert told.decided is not None
    # Stability: 0.95 - 0.88; of the runner-up's advantages balance and fit are the smaller ones.
    assert (told.decided.runner_up, told.decided.by) == ("spot-b2", "stability")
    assert told.decided.difference == pytest.approx(0.07)
    assert told.candidates is not None
    assert told.candidates.names == REQUEST["NodeNames"]
    assert [(each.rule, each.short_of) for each in told.candidates.rejected] == [("resources", {"cpu": 1})]


def test_a_pod_on_the_best_node_is_there_because_of_what_decided() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("cheap").build())
    # The pod takes half of a node; the builder's nodes are the same but for the price.
    price = "a lower price ($0.0500/h instead of $0.200/h)"
    assert service.explain(WANTED).sentences == [
        f"shop/cart-7 is placed on cheap ($0.0500/h) because it offers {price}.",
        "dear ($0.200/h) is second: it offers nothing better.",
        "kube-scheduler asked about 2 of 2 nodes: 2 passed, 0 were rejected.",
    ]


def test_a_pod_elsewhere_was_outvoted() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("dear").build())
    story = service.story(WANTED)
    assert story.startswith("shop/cart-7 is placed on dear ($0.200/h). Tradewind preferred cheap ($0.0500/h)")
    assert (
        "kube-scheduler chose dear, number 2 here: its own scores or an earlier nomination outweighed "
        "Tradewind's." in story
    )


def test_a_pod_on_a_node_that_was_rejected() -> None:
    service = serving(CHEAP, DEAR, node("small").cpu("1"))
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("small").build())
    expected = f"kube-scheduler chose small, although Tradewind had rejected it: {Resources.reason}."
    assert expected in service.story(WANTED)


def test_a_pod_on_a_node_that_was_not_asked_about() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("other").build())
    assert "kube-scheduler chose other, which is not among the best here" in service.story(WANTED)


def test_a_pod_that_is_gone() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED)
    assert service.story(WANTED).startswith(
        "shop/cart-7 is gone, or too new to be seen. Tradewind preferred cheap ($0.0500/h)"
    )


def test_a_successor_of_the_same_name_does_not_tell_where_this_one_went() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.uid("another").on("cheap").build())
    assert service.explain(WANTED).placed_on is None


def test_cheaper_nodes_that_lost_or_were_rejected_are_named() -> None:
    stable = node("stable").price(0.4).annotation(_RATE, "0")
    second = node("second").price(0.38).annotation(_RATE, "0.1")
    risky = node("risky").price(0.36).annotation(_RATE, "0.6")
    service = serving(stable, second, risky, node("full").price(0.05), node("small").cpu("1").price(0.01))
    service.cluster.cache.apply_pod(pod("other").requests(cpu="3").on("full").build())
    service.schedule(WANTED)
    story = service.story(WANTED)
    assert (
        "risky ($0.180/h) is the cheapest, but number 3: stable offers a lower risk of interruption "
        "(0% instead of 60%)." in story
    )
    assert f"full would cost $0.0250/h, but is rejected: {Resources.reason}." in story
    assert "small" not in story  # too small even if it were empty


@pytest.mark.parametrize(
    "without",
    [
        pytest.param({"price"}, id="price does not count"),
        pytest.param({each.scorer.name for each in SCORERS}, id="nothing counts"),
    ],
)
def test_a_cheaper_node_that_is_as_good_is_no_riddle(without: set[str]) -> None:
    """The document must give some scorer a weight; a policy need not."""
    policy = DEFAULT.policies().default
    scorers = tuple((rule, 0.0 if rule.name in without else weight) for rule, weight in policy.scorers)
    service = Service(policy=replace(policy, scorers=scorers))
    for each in (DEAR, CHEAP):
        service.cluster.cache.apply_node(each.build())
    service.schedule(WANTED)
    told = service.explain(WANTED)
    assert "Tradewind preferred dear ($0.200/h) and cheap ($0.0500/h) alike." in told.sentences[0]
    assert "cheap" in report.text(told, 80)


def test_the_second_is_not_named_again_as_the_cheapest() -> None:
    stable = node("stable").price(0.12).annotation(_RATE, "0.05")
    cheap = node("cheap").price(0.11).annotation(_RATE, "0.9")
    service = serving(stable, cheap)
    service.schedule(WANTED)
    assert [sentence.split(" (")[0] for sentence in service.explain(WANTED).sentences[1:]] == [
        "cheap",
        "kube-scheduler asked about 2 of 2 nodes: 2 passed, 0 were rejected.",
    ]


def test_equal_nodes_are_preferred_alike() -> None:
    twins = [node(f"twin-{i}").price(0.1) for i in range(5)]
    service = serving(*twins, DEAR)
    service.schedule(WANTED)
    assert (
        "Tradewind preferred twin-0 ($0.0500/h), twin-1 ($0.0500/h), twin-2 ($0.0500/h) and 2 more alike "
        "because they offer a lower price ($0.0500/h instead of $0.200/h)." in service.story(WANTED)
    )
    assert "dear ($0.200/h) is next: it offers nothing better." in service.story(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("twin-3").build())
    expected = "shop/cart-7 is placed on twin-3 ($0.0500/h), one of 5 equally good nodes because"
    assert service.story(WANTED).startswith(expected)


def test_of_many_equal_nodes_any_may_be_the_chosen_one() -> None:
    service = serving(*(node(f"twin-{i:02d}").price(0.1) for i in range(30)))
    service.schedule(WANTED)
    service.cluster.cache.apply_pod(WANTED.on("twin-29").build())
    assert "kube-scheduler chose twin-29, perhaps one of the 30 equally good ones." in service.story(WANTED)


def test_a_pod_that_fits_nowhere() -> None:
    service = serving(node("a").cpu("1"), node("b").cpu("1"), node("c").label("disktype", "hdd"))
    wished = WANTED.annotation("tradewind.dev/disk-type", "ssd")
    service.cluster.cache.apply_pod(wished.build())
    assert not service.schedule(wished)
    assert service.explain(wished).sentences == [
        "shop/cart-7 is not placed yet.",
        f"No candidate can take it. The most frequent reason: {Resources.reason} (2 nodes).",
        "kube-scheduler asked about 3 of 3 nodes: 0 passed, 3 were rejected.",
    ]


def test_the_only_node_left_has_its_price() -> None:
    service = serving(DEAR, node("small").cpu("1"))
    service.cluster.cache.apply_pod(WANTED.build())
    service.schedule(WANTED)
    expected = "shop/cart-7 is not placed yet. Tradewind prefers dear ($0.200/h), the only candidate left."
    assert service.explain(WANTED).sentences[0] == expected


def test_a_single_candidate_may_be_a_nomination() -> None:
    service = serving(CHEAP, DEAR)
    service.schedule(WANTED, ["dear"])
    told = service.explain(WANTED)
    assert told.sentences[0].endswith("Tradewind preferred dear ($0.200/h).")
    assert told.sentences[-1] == (
        "kube-scheduler asked about 1 of 2 nodes: 1 passed, 0 were rejected; its own filters left no other, "
        "or the pod was nominated to it."
    )


def test_an_unknown_node_is_rejected_without_a_rule() -> None:
    service = serving(CHEAP, DEAR)
    wanted = WANTED.annotation("tradewind.dev/node-labels", "!gone")
    service.schedule(wanted, ["cheap", "dear", "ghost"])
    candidates = service.explain(wanted).candidates
    assert candidates is not None
    assert [(each.rule, each.reason) for each in candidates.rejected] == [("", UNKNOWN_NODE)]
    assert f"{UNKNOWN_NODE}\n" in report.text(service.explain(wanted), 100)


def test_nodes_without_a_price() -> None:
    service = serving(node("a").cpu("3").memory("12Gi"), node("b"))
    service.schedule(WANTED)
    told = service.explain(WANTED)
    assert told.sentences[0].endswith(
        "Tradewind preferred a (at an unknown price) because it offers a tighter fit "
        "(58.3% instead of 68.8% of the node stays free)."  # (1/3 + 10/12) / 2 and (2/4 + 14/16) / 2
    )
    assert told.ranked[0].dollars_an_hour is None
    assert re.search(r"1  a +\? ", report.text(told, 100))


def test_filtered_but_not_ranked() -> None:
    service = serving(CHEAP, DEAR)
    service.ask("/filter", WANTED, ["cheap", "dear"])
    assert "2 nodes can take it; kube-scheduler did not ask here which one to prefer." in service.story(
        WANTED
    )


def test_standing_aside_is_told() -> None:
    service = serving(CHEAP, DEAR)
    service.cluster.synced = False
    service.schedule(WANTED)
    assert service.explain(WANTED).sentences == [
        "Tradewind failed open for shop/cart-7: the cluster state was not complete yet.",
        "Every node passed and none was preferred, as if Tradewind were not there.",
    ]


def test_a_fault_of_the_memory_does_not_change_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Forgetful(Decisions):
        def filtered(self, *_: object, **__: object) -> None:
            raise ZeroDivisionError

        def ranked(self, *_: object, **__: object) -> None:
            raise ZeroDivisionError

    service = Service(decisions=Forgetful(10, 3600))
    for each in (CHEAP, DEAR, node("small").cpu("1")):
        service.cluster.cache.apply_node(each.build())
    assert service.schedule(WANTED) == ["cheap", "dear"]
    assert "ZeroDivisionError" in caplog.text


def test_a_pod_that_was_never_seen_gets_a_sentence() -> None:
    answer = Service().client.get("/explain/shop/nobody")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith(
        "kube-scheduler did not ask this Tradewind about pod shop/nobody, or so long ago"
    )


def test_it_is_in_the_openapi_document() -> None:
    paths = Service().client.get("/openapi.json").json()["paths"]
    assert set(paths) == {"/explain/{namespace}/{pod}"}


def test_a_node_that_the_standing_plan_drains_is_told_of() -> None:
    service = serving(CHEAP, DEAR)
    kind = GuidedKind(bids={}, needed=14, own_pods=0, roles={Role.DRAIN: ["dear", *map(str, range(19))]})
    service.cluster.cache.follow_guide(Guide(version=1, solved_at=0.0, until=1.0, kinds=[kind]))
    service.schedule(WANTED)
    told = " ".join(service.explain(WANTED).sentences)
    assert "Node dear is to be drained: the standing plan needs 14 of these 20 nodes." in told
    assert "Node cheap is to be drained" not in told
