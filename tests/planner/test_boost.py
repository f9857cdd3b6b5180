"""A pod that carries a plan, over HTTP: while it is fresh the planned node goes first, or alone."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from extender.app import App, add_explain, add_verbs
from extender.metrics import ExtenderMetrics
from extender.verbs import Verbs
from scoring.filters.resources import Resources
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.config.document import DEFAULT
from tradewind.explain.decisions import Decisions
from tradewind.explain.explanation import Explanation
from tradewind.planner.boost import PlannedNodeOnly
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

_CHEAP, _FAIR, _DEAR = node("cheap").price(0.1), node("fair").price(0.2), node("dear").price(0.9)
_ALL = ["cheap", "fair", "dear"]
_WANTED = pod("web").namespace("shop").requests(cpu="2", memory="2Gi")
_UNTIL = "2099-01-01 00:00:00 UTC"
_NEW_YEAR_2099 = 4070908800.0


@dataclass
class Cluster:
    cache: Cache = field(default_factory=lambda: Cache(offer_of))
    synced: bool = True
    stale: str = ""
    watches: tuple[()] = ()
    now: Callable[[], float] = lambda: _NEW_YEAR_2099 - 60


class Service:
    def __init__(self, *nodes: NodeBuilder) -> None:
        self.cluster, self.metrics = Cluster(), ExtenderMetrics()
        for each in nodes:
            self.cluster.cache.apply_node(each.build())
        decisions, app = Decisions(100, 3600), App()
        policy = DEFAULT.policies().default
        verbs = Verbs(self.cluster, lambda _: policy, self.metrics, None, decisions, recheck=lambda: True)
        add_verbs(app, verbs, 2**20)
        add_explain(app, decisions, self.cluster.cache)
        self.client = TestClient(app)

    def filter(self, wanted: PodBuilder, names: list[str]) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask("/filter", wanted, names)
        return answer

    def scores(self, wanted: PodBuilder, names: list[str]) -> dict[str, int]:
        return {each["Host"]: each["Score"] for each in self._ask("/prioritize", wanted, names)}

    def explain(self, wanted: PodBuilder) -> Explanation:
        return Explanation.model_validate_json(self.client.get(f"/explain/{wanted.build()}").content)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"tradewind_{name}", labels) or 0

    def _ask(self, path: str, wanted: PodBuilder, names: list[str]) -> Any:
        return self.client.post(path, content=json.dumps({"Pod": wanted.document, "NodeNames": names})).json()


def _planned(node_name: str, until: float = _NEW_YEAR_2099, *, strict: bool = False) -> PodBuilder:
    return _WANTED.annotation(ANNOTATION, PlanAnnotation(node_name, until, strict).text())


def _three() -> Service:
    return Service(_CHEAP, _FAIR, _DEAR)


def test_the_planned_node_outranks_all_others() -> None:
    service = _three()
    assert service.scores(_WANTED, _ALL)["cheap"] == 10
    assert service.scores(_planned("dear"), _ALL) == {"cheap": 0, "fair": 0, "dear": 10}
    assert service.count("planned_answers_total", outcome="preferred") == 1


def test_a_plan_that_is_not_strict_rejects_nothing() -> None:
    assert _three().filter(_planned("dear"), _ALL)["NodeNames"] == _ALL


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(_planned("dear", time.time() - 1), id="expired"),
        pytest.param(_planned("dear", time.time() - 1, strict=True), id="strict and expired"),
        pytest.param(_WANTED.annotation(ANNOTATION, '{"node":"dear"}'), id="makes no sense"),
    ],
)
def test_a_plan_without_effect(wanted: PodBuilder) -> None:
    service = _three()
    assert service.filter(wanted, _ALL)["NodeNames"] == _ALL
    assert service.scores(wanted, _ALL) == service.scores(_WANTED, _ALL)
    assert service.explain(wanted).planned is None
    assert service.count("planned_answers_total", outcome="preferred") == 0


def test_a_plan_ends_by_the_clock_of_the_cluster() -> None:
    service = _three()
    service.cluster.now = lambda: _NEW_YEAR_2099
    assert service.scores(_planned("dear"), _ALL) == service.scores(_WANTED, _ALL)
    assert service.filter(_planned("dear", strict=True), _ALL)["NodeNames"] == _ALL


def test_the_scores_decide_when_the_planned_node_is_no_candidate() -> None:
    service = _three()
    assert service.scores(_planned("dear"), ["cheap", "fair"]) == service.scores(_WANTED, ["cheap", "fair"])
    assert service.scores(_planned("gone"), _ALL) == service.scores(_WANTED, _ALL)
    assert service.count("planned_answers_total", outcome="unavailable") == 2


def test_the_scores_decide_when_the_planned_node_has_filled_up() -> None:
    service = _three()
    wanted = _planned("dear")
    assert service.filter(wanted, _ALL)["NodeNames"] == _ALL
    service.cluster.cache.apply_pod(pod("quicker").requests(cpu="3").on("dear").build())
    assert service.scores(wanted, _ALL) == service.scores(_WANTED, _ALL)
    assert service.count("planned_answers_total", outcome="unavailable") == 1


def test_nodes_that_nobody_knows_do_not_shift_the_boost() -> None:
    scores = _three().scores(_planned("dear"), ["ghost", "cheap", "phantom", "dear", "fair"])
    assert scores == {"ghost": 0, "cheap": 0, "phantom": 0, "dear": 10, "fair": 0}


def test_a_strict_plan_leaves_the_planned_node_only() -> None:
    service = _three()
    answer = service.filter(_planned("dear", strict=True), _ALL)
    assert answer["NodeNames"] == ["dear"]
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == dict.fromkeys(["cheap", "fair"], PlannedNodeOnly.reason)
    assert service.count("rejected_nodes_total", rule="plan") == 2


def test_a_strict_plan_comes_before_every_other_reason() -> None:
    """No pod may be evicted from a node that the plan does not allow."""
    service = Service(_CHEAP, node("small").cpu("1"), _DEAR)
    answer = service.filter(_planned("dear", strict=True), ["cheap", "small", "dear"])
    assert answer["FailedNodes"] == {}
    assert answer["FailedAndUnresolvableNodes"] == dict.fromkeys(["cheap", "small"], PlannedNodeOnly.reason)


@pytest.mark.parametrize("planned", ["dear", "gone"])
def test_a_strict_plan_waits_for_a_node_that_is_no_candidate(planned: str) -> None:
    answer = _three().filter(_planned(planned, strict=True), ["cheap", "fair"])
    assert answer["NodeNames"] == []
    assert answer["FailedAndUnresolvableNodes"] == dict.fromkeys(["cheap", "fair"], PlannedNodeOnly.reason)


def test_a_strict_plan_does_not_override_our_filters() -> None:
    service = _three()
    service.cluster.cache.apply_pod(pod("quicker").requests(cpu="3").on("dear").build())
    answer = service.filter(_planned("dear", strict=True), _ALL)
    assert answer["NodeNames"] == []
    assert answer["FailedNodes"] == {"dear": Resources.reason}  # evicting the other pod may help here


def test_no_annotation_costs_an_answer() -> None:
    service = _three()

    @settings(max_examples=25)
    @given(written=st.text(max_size=50), names=st.permutations(_ALL))
    def ask(written: str, names: list[str]) -> None:
        odd = _WANTED.annotation(ANNOTATION, written)
        assert service.filter(odd, names)["NodeNames"] == names
        assert service.scores(odd, names) == service.scores(_WANTED, names)

    ask()
    for verb in ("filter", "prioritize"):
        assert service.count("requests_total", verb=verb, outcome="failed") == 0


def test_a_preferred_node_is_explained_by_its_plan() -> None:
    service = _three()
    wanted = _planned("dear")
    service.cluster.cache.apply_pod(wanted.build())
    service.filter(wanted, _ALL)
    service.scores(wanted, _ALL)
    told = service.explain(wanted)
    plan = f"shop/web is planned on node dear until {_UNTIL}; the planned node is preferred over the scores."
    # The pod takes half of a node.
    by_score = "By the scores cheap ($0.0500/h) would be better: it offers a lower price "
    assert told.sentences == [
        "shop/web is not placed yet.",
        plan,
        f"{by_score}($0.0500/h instead of $0.450/h).",
        "kube-scheduler asked about 3 of 3 nodes: 3 passed, 0 were rejected.",
    ]
    assert [(each.node, each.rank, each.level) for each in told.ranked] == [
        ("cheap", 1, 0),
        ("fair", 2, 0),
        ("dear", 3, 10),
    ]
    assert told.planned is not None
    assert (told.planned.node, told.planned.strict, told.planned.preferred) == ("dear", False, True)

    service.cluster.cache.apply_pod(wanted.on("dear").build())
    assert service.explain(wanted).sentences[:2] == [
        "shop/web is placed on dear ($0.450/h), as planned.",
        plan,
    ]
    service.cluster.cache.apply_pod(wanted.on("fair").build())
    chose = "kube-scheduler chose fair: its own scores or an earlier nomination outweighed Tradewind's."
    assert chose in service.explain(wanted).sentences


def test_the_planned_node_is_ranked_however_bad_it_is() -> None:
    service = Service(*(node(f"n{i:02d}").price(0.1 + i / 100) for i in range(30)), _DEAR)
    wanted = _planned("dear")
    service.scores(wanted, [*(f"n{i:02d}" for i in range(30)), "dear"])
    last = service.explain(wanted).ranked[-1]
    assert (last.node, last.rank, last.level) == ("dear", 31, 10)


def test_a_plan_that_agrees_with_the_scores_is_not_defended() -> None:
    service = _three()
    service.scores(_planned("cheap"), _ALL)
    assert not any("By the scores" in sentence for sentence in service.explain(_WANTED).sentences)


def test_a_planned_node_that_was_not_to_be_had_is_told() -> None:
    service = _three()
    service.filter(_planned("dear"), ["cheap", "fair"])
    service.scores(_planned("dear"), ["cheap", "fair"])
    told = service.explain(_WANTED)
    plan = f"shop/web is planned on node dear until {_UNTIL}"
    assert f"{plan}, but that node was not available, so the scores decided." in told.sentences
    assert told.planned is not None
    assert not told.planned.preferred


@pytest.mark.parametrize("strict", [False, True])
def test_a_nomination_to_the_planned_node_is_told(strict: bool) -> None:
    """kube-scheduler tries a nominated node alone, and then never asks which one to prefer."""
    service = _three()
    service.filter(_planned("dear", strict=strict), ["dear"])
    but = ", and no other node will do before then" if strict else ""
    assert f"shop/web is planned on node dear until {_UNTIL}{but}." in service.explain(_WANTED).sentences


def test_a_pod_that_waits_for_its_planned_node_is_told() -> None:
    service = _three()
    wanted = _planned("gone", strict=True)
    service.cluster.cache.apply_pod(wanted.build())
    service.filter(wanted, _ALL)
    assert service.explain(wanted).sentences == [
        "shop/web is not placed yet.",
        f"shop/web is planned on node gone until {_UNTIL}, and no other node will do before then.",
        f"No candidate can take it. The most frequent reason: {PlannedNodeOnly.reason} (3 nodes).",
        "kube-scheduler asked about 3 of 3 nodes: 0 passed, 3 were rejected.",
    ]
