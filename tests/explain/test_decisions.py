"""What is kept of a decision, and for how long."""

import gc
import weakref
from collections.abc import Sequence

import numpy as np
import pytest

from scoring.policy import Policy, WeightedScores, weighted_sum
from scoring.ranking import levels
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.config.document import DEFAULT, parse
from tradewind.explain.decisions import BRIEF, Decision, Decisions, Filtering, Ranking, ranking_of

_POLICY = DEFAULT.policies().default
_WANTED = pod("cart-7").namespace("shop").requests(cpu="2", memory="2Gi")


def filtered(
    decisions: Decisions,
    wanted: PodBuilder,
    nodes: Sequence[NodeBuilder],
    apart: dict[str, str] | None = None,
) -> Filtering:
    built, columns = wanted.build(), cluster_of(nodes).nodes
    decisions.filtered(built, _POLICY, columns, _POLICY.filter(built, columns), apart=apart or {})
    filtering = decision(decisions, built).filtering
    assert filtering is not None
    return filtering


def ranked(decisions: Decisions, wanted: Pod, nodes: Nodes, policy: Policy = _POLICY) -> Ranking:
    terms = tuple(policy.terms(wanted, nodes))
    decisions.ranked(wanted, policy, nodes, terms, weighted_sum(terms, len(nodes)))
    ranking = decision(decisions, wanted).ranking
    assert ranking is not None
    return ranking


def decision(decisions: Decisions, wanted: Pod) -> Decision:
    found = decisions.find(wanted.namespace, wanted.name)
    assert found is not None
    return found


def store() -> Decisions:
    return Decisions(most=100, age_seconds=3600)


def test_filter_and_prioritize_are_one_decision() -> None:
    decisions = store()
    nodes = [node("a").price(0.1), node("b").price(0.2), node("small").cpu("1")]
    filtered(decisions, _WANTED, nodes)
    ranked(decisions, _WANTED.build(), cluster_of(nodes[:2]).nodes)
    found = decision(decisions, _WANTED.build())
    assert found.filtering is not None
    assert (found.filtering.candidates, found.filtering.passed) == (3, 2)
    assert found.filtering.names == ("a", "b", "small")
    assert found.ranking is not None
    assert found.ranking.names == ("a", "b")
    assert found.policy is _POLICY


def test_a_prioritize_request_without_its_filter_request_is_kept_too() -> None:
    decisions = store()
    ranked(decisions, _WANTED.build(), cluster_of([node("a"), node("b")]).nodes)
    assert decision(decisions, _WANTED.build()).filtering is None


def test_a_new_filter_request_takes_the_old_ranking_away_and_is_counted() -> None:
    decisions = store()
    ranked(decisions, _WANTED.build(), cluster_of([node("a"), node("b")]).nodes)
    filtered(decisions, _WANTED, [node("a"), node("b")])
    filtered(decisions, _WANTED, [node("a"), node("b")])
    found = decision(decisions, _WANTED.build())
    assert found.ranking is None
    assert found.attempts == 3


def test_a_pod_of_the_same_name_starts_anew() -> None:
    decisions = store()
    filtered(decisions, _WANTED, [node("a"), node("b")])
    successor = _WANTED.uid("another")
    ranked(decisions, successor.build(), cluster_of([node("a"), node("b")]).nodes)
    found = decision(decisions, successor.build())
    assert (found.uid, found.attempts, found.filtering) == ("another", 1, None)


def test_the_oldest_decision_goes_when_there_are_too_many() -> None:
    decisions = Decisions(most=2, age_seconds=3600)
    for name in ("first", "second", "third"):
        filtered(decisions, pod(name), [node("a")])
    kept = [name for name in ("first", "second", "third") if decisions.find("default", name)]
    assert kept == ["second", "third"]


def test_a_decision_is_forgotten_with_age() -> None:
    decisions = Decisions(most=2, age_seconds=0)
    decisions.failed_open(_WANTED.build(), "why")
    assert decisions.find("shop", "cart-7") is None


def test_rejected_nodes_are_counted_by_rule_and_the_cheapest_are_named() -> None:
    small = [node(f"small-{i:02d}").cpu("1").price(0.5 - i / 100) for i in range(12)]
    wished = _WANTED.annotation("tradewind.dev/disk-type", "ssd")
    filtering = filtered(store(), wished, [node("a").label("disktype", "ssd"), node("b"), *small])
    resources, disk_type = filtering.rejected
    assert (resources.rule, resources.count, resources.resolvable) == ("resources", 12, True)
    assert resources.names == tuple(f"small-{i:02d}" for i in range(11, 1, -1))
    # A node of 1 core never holds a pod of 2: what the whole node costs is no price of the pod.
    assert np.isnan(resources.costs).all()
    assert (disk_type.rule, disk_type.names, disk_type.resolvable) == ("disk_type", ("b",), False)


def test_a_node_without_a_price_is_named_after_those_with_one() -> None:
    small = [node("unpriced").cpu("1"), node("priced").cpu("1").price(9)]
    assert filtered(store(), _WANTED, small).rejected[0].names == ("priced", "unpriced")


def test_which_resource_is_short_is_counted() -> None:
    exact = node("c").cpu("2").memory("1Gi")  # two cores are enough
    nodes = [
        node("a").cpu("1").resource("example.com/gpu", 1),
        node("b").cpu("1").memory("1Gi"),
        exact,
        node("d"),
    ]
    wanted = pod("web").requests({"example.com/gpu": 2}, cpu="2", memory="2Gi")
    short = dict(filtered(store(), wanted, nodes).rejected[0].short_of)
    assert short == {"cpu": 2, "memory": 2, "example.com/gpu": 1}  # one node advertises any


def test_nodes_that_no_rule_rejected_are_kept_apart() -> None:
    reasons = {"ghost": "not known", "a": "refused"}
    filtering = filtered(store(), _WANTED, [node("a"), node("b"), node("c")], apart=reasons)
    assert (filtering.candidates, filtering.passed) == (4, 2)
    assert [(each.rule, each.reason, each.names) for each in filtering.rejected] == [
        ("", "not known", ("ghost",)),
        ("", "refused", ("a",)),
    ]


def test_the_only_node_left_is_ranked_although_nobody_asks() -> None:
    decisions = store()
    filtered(decisions, _WANTED, [node("small").cpu("1"), node("a").price(0.4)])
    ranking = decision(decisions, _WANTED.build()).ranking
    assert ranking is not None
    assert ranking.names == ("a",)
    assert ranking.costs.tolist() == pytest.approx([0.2])  # half of 4 cores


@pytest.mark.parametrize("seed", range(20))
def test_the_best_are_kept_with_the_ranks_and_levels_of_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 60))
    columns = cluster_of([node(f"n{i}").price(random.uniform(0.1, 1)) for i in range(count)]).nodes
    totals = np.round(random.uniform(0, 4, count), int(random.integers(0, 3)))  # with ties
    price = random.uniform(0, 1, count)
    ranking = ranking_of(_WANTED.build(), columns, [WeightedScores(Price(), 1.0, price)], totals)
    assert ranking is not None
    rows = [columns.names.index(name) for name in ranking.names]
    assert sorted(totals, reverse=True)[: BRIEF.ranked] == totals[rows[: BRIEF.ranked]].tolist()
    best = int(totals.argmax())
    assert ranking.names[0] == columns.names[best]
    assert ranking.levels.tolist() == levels(totals, best)[rows].tolist()
    assert ranking.ranks.tolist() == [int((totals > totals[row]).sum()) + 1 for row in rows]
    assert ranking.best_count == int((totals == totals.max()).sum())
    assert int(price.argmax()) in rows
    assert ranking.scores.tolist() == [price[rows].tolist()]


def test_scorers_without_weight_are_left_out() -> None:
    document = parse(
        "{apiVersion: tradewind.dev/v1alpha1, kind: TradewindConfiguration, weights: {price: 0, alpha: 3}}"
    )
    policy = document.policies().default
    ranking = ranked(store(), _WANTED.build(), cluster_of([node("a"), node("b")]).nodes, policy)
    names = [scorer.name for scorer, _ in ranking.scorers]
    assert Price.name not in names
    assert dict(zip(names, [weight for _, weight in ranking.scorers], strict=True))[ResourceFit.name] == 3


def test_a_decision_keeps_no_snapshot_alive() -> None:
    cache = Cache(offer_of)
    for i in range(30):
        cache.apply_node(node(f"n{i}").cpu("1" if i % 2 else "4").price(0.1).build())
    decisions, wanted = store(), _WANTED.build()
    columns = cache.snapshot().nodes
    decisions.filtered(wanted, _POLICY, columns, _POLICY.filter(wanted, columns), apart={})
    ranked(decisions, wanted, columns)
    parts = (columns, columns.cluster, columns.cluster.table, columns.price, columns.free)
    held: list[weakref.ref[object]] = [weakref.ref(part) for part in parts]
    del columns, parts
    cache.apply_node(node("new").build())
    cache.snapshot()
    gc.collect()
    assert [reference() for reference in held] == [None] * 5


def test_standing_aside_takes_the_place_of_what_was_decided_before() -> None:
    decisions = store()
    filtered(decisions, _WANTED, [node("a"), node("b")])
    decisions.failed_open(_WANTED.build(), "the log says how")
    found = decision(decisions, _WANTED.build())
    assert (found.filtering, found.failed_open, found.attempts) == (None, "the log says how", 1)
    ranked(decisions, _WANTED.build(), cluster_of([node("a"), node("b")]).nodes)
    assert not decision(decisions, _WANTED.build()).failed_open
