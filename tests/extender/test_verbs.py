"""The verbs over HTTP, as kube-scheduler calls them."""

import json
import time

import pytest

from extender import verb as verb_module
from extender.verbs import UNKNOWN_NODE
from scoring.filters.resources import Resources
from scoring.policy import Policy
from tests.builders import PodBuilder, node, pod
from tests.extender.served import NAMES, THREE, WANTED, request, service
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.planner.plan_annotation import MOVE, PlanAnnotation


def test_filter_keeps_what_fits_and_says_why_the_rest_does_not() -> None:
    assert service(*THREE).filter(WANTED, NAMES) == {
        "Nodes": None,
        "NodeNames": ["cheap", "dear"],
        "FailedNodes": {"small": Resources.reason},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


def test_prioritize_prefers_the_cheaper_node() -> None:
    assert service(*THREE).scores(WANTED, ["cheap", "dear"]) == {"cheap": 10, "dear": 0}


def test_prioritize_ranks_what_filter_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens between the two, as long as prioritize follows at once and about the same nodes."""
    served, wanted, names = service(*THREE), pod("wanted").requests(cpu="1"), ["cheap", "dear"]
    assert served.filter(wanted, names)["NodeNames"] == names
    served.cluster.cache.apply_node(node("cheap").price(9.0).build())
    assert served.scores(wanted, names)["cheap"] == 10
    assert served.scores(pod("another").requests(cpu="1"), names)["dear"] == 10
    served.filter(wanted, names)
    assert served.scores(wanted, names)["dear"] == 10

    served.cluster.cache.apply_node(node("cheap").price(0.1).build())
    monkeypatch.setattr("extender.lookup._VIEW_SECONDS", -1.0)
    served.filter(wanted, names)
    served.cluster.cache.apply_node(node("cheap").price(9.0).build())
    assert served.scores(wanted, names)["dear"] == 10


def test_pods_whose_binding_is_not_seen_yet_count_for_scores_and_reject_nothing() -> None:
    """Both nodes are empty and alike. The second pod follows the first, which filled its node."""
    served, names = service(node("a").memory("4Gi"), node("b").memory("4Gi")), ["a", "b"]
    assert served.scores(pod("first").requests(cpu="3", memory="3Gi"), names) == {"a": 10, "b": 9}
    second = pod("second").requests(cpu="1", memory="1Gi")
    assert served.filter(second, names)["NodeNames"] == names
    assert served.scores(second, names) == {"a": 10, "b": 0}
    third = pod("third").requests(cpu="1", memory="1Gi")
    assert served.filter(third, names)["NodeNames"] == names
    assert served.scores(third, names)["b"] == 10
    served.cluster.cache.apply_pod(pod("first").requests(cpu="3", memory="3Gi").on("b").build())
    fourth = pod("fourth").requests(cpu="1", memory="1Gi")
    assert served.scores(fourth, names)["a"] == 10  # the third fills what the first left of b
    assert served.count("expected_bindings_total", outcome="elsewhere") == 1


def test_a_pod_with_one_node_left_is_expected_there() -> None:
    served = service(node("a").memory("4Gi"), node("b").memory("4Gi"))
    assert served.filter(pod("first").requests(cpu="1", memory="1Gi"), ["b"])["NodeNames"] == ["b"]
    assert served.scores(pod("second").requests(cpu="1", memory="1Gi"), ["a", "b"])["b"] == 10


def test_room_that_is_kept_for_a_move_is_taken_for_others_and_free_for_its_workload() -> None:
    served = service(*THREE)
    place = PlanAnnotation("cheap", time.time() + 60, uid="default/leaving")
    leaving = pod("leaving").owner("ReplicaSet", "web", "web").requests(cpu="4").on("dear")
    wanted = pod("wanted").requests(cpu="1")
    served.cluster.cache.apply_pod(leaving.annotation(MOVE, place.text()).build())
    assert served.filter(wanted, ["cheap"])["FailedNodes"] == {"cheap": Resources.reason}
    replacement = pod("next").owner("ReplicaSet", "web", "web").requests(cpu="4")
    assert served.filter(replacement, ["cheap"])["NodeNames"] == ["cheap"]
    served.cluster.cache.apply_pod(leaving.build())
    assert served.filter(wanted, ["cheap"])["NodeNames"] == ["cheap"]


@pytest.mark.parametrize(
    ("left", "kept"),
    [pytest.param(50, [], id="a while is left"), pytest.param(-1, ["cheap"], id="it has ended")],
)
def test_room_is_kept_for_a_move_by_the_clock_of_the_cluster(left: float, kept: list[str]) -> None:
    served, place = service(*THREE), PlanAnnotation("cheap", time.time() + 60, uid="default/leaving")
    served.cluster.ahead = 60 - left
    leaving = pod("leaving").requests(cpu="4").on("dear").annotation(MOVE, place.text())
    served.cluster.cache.apply_pod(leaving.build())
    assert served.filter(pod("wanted").requests(cpu="1"), ["cheap"])["NodeNames"] == kept


def test_scores_are_integer_literals() -> None:
    body = service(*THREE).post("/prioritize", WANTED, ["cheap"]).content
    assert body == b'[{"Host":"cheap","Score":10}]'


def test_whole_nodes_are_answered_with_the_same_whole_nodes() -> None:
    items = [{**each.document, "oddField": {"kept": [1, None]}} for each in THREE]
    body = json.dumps({"Pod": WANTED.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None})
    answer = service(*THREE).client.post("/filter", content=body.encode()).json()
    assert answer["Nodes"]["items"] == items[1:]
    assert answer["NodeNames"] is None
    assert answer["FailedNodes"] == {"small": Resources.reason}


def test_an_unknown_node_is_kept_for_a_pod_without_rules_and_counted() -> None:
    served = service(*THREE)
    assert served.filter(WANTED, ["cheap", "ghost"])["NodeNames"] == ["cheap", "ghost"]
    assert served.filter(WANTED, ["ghost"])["NodeNames"] == ["ghost"]
    assert served.count("unknown_nodes_total") == 2
    assert served.scores(WANTED, ["cheap", "ghost"]) == {"cheap": 10, "ghost": 0}


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        pytest.param(WANTED.annotation(hints.NODE_LABELS, "!gone"), ["cheap"], id="the pod has a hint"),
        pytest.param(WANTED.annotation("tradewind.dev/gang", "ring"), ["cheap"], id="it is of a gang"),
        pytest.param(WANTED.requests(cpu="99"), [], id="a rule has rejected the other node"),
    ],
)
def test_an_unknown_node_is_left_out_where_a_rule_may_be_against_it(
    wanted: PodBuilder, kept: list[str]
) -> None:
    answer = service(*THREE).filter(wanted, ["cheap", "ghost"])
    assert answer["NodeNames"] == kept
    assert answer["FailedNodes"]["ghost"] == UNKNOWN_NODE  # our watch may bring it: try again


def test_no_candidates_at_all() -> None:
    served = service(*THREE)
    assert served.filter(WANTED, [])["NodeNames"] == []
    assert served.scores(WANTED, []) == {}


def test_before_the_first_list_every_node_passes_and_is_counted() -> None:
    served = service(synced=False)
    answer = served.filter(WANTED, ["any", "other"])
    assert answer["NodeNames"] == ["any", "other"]
    assert not answer["FailedNodes"]
    assert not answer["FailedAndUnresolvableNodes"]
    assert served.scores(WANTED, ["any", "other"]) == {"any": 0, "other": 0}
    assert served.count("requests_total", verb="filter", outcome="not_synced") == 1


def test_with_stale_state_every_node_passes_and_is_counted() -> None:
    served = service(*THREE)
    served.cluster.stale = "the watch of nodes has been silent for 75 s"
    names = ["small", "new"]
    answer = served.filter(WANTED, names)
    assert answer["NodeNames"] == names
    assert not answer["FailedNodes"]
    assert served.scores(WANTED, names) == {"small": 0, "new": 0}
    for verb in ("filter", "prioritize"):
        assert served.count("requests_total", verb=verb, outcome="stale") == 1
    ready = served.client.get("/readyz")
    assert (ready.status_code, ready.json()["reason"]) == (503, served.cluster.stale)
    assert "tradewind_cluster_stale 1.0" in served.client.get("/metrics").text
    served.cluster.stale = ""
    assert served.filter(WANTED, ["small"])["FailedNodes"] == {"small": Resources.reason}
    assert served.client.get("/readyz").status_code == 200
    assert "tradewind_cluster_stale 0.0" in served.client.get("/metrics").text


def test_a_node_that_the_request_carries_is_known() -> None:
    """4 cores and 2 example.com/gpu, of which pods that our watch has brought already take 3 and 0."""
    served = service(*THREE)
    new = node("new").resource("example.com/gpu", 2).price(0.01)
    served.cluster.cache.apply_pod(pod("early").requests(cpu="3").on("new").build())
    items = [each.document for each in (*THREE, new)]

    def kept(wanted: PodBuilder) -> list[str]:
        body = {"Pod": wanted.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
        answer = served.client.post("/filter", content=json.dumps(body).encode()).json()
        assert set(answer["FailedNodes"].values()) <= {Resources.reason}
        scores = served.client.post("/prioritize", content=json.dumps(body).encode()).json()
        assert len(scores) == len(items)
        return [each["metadata"]["name"] for each in answer["Nodes"]["items"]]

    assert kept(pod("one").requests(cpu="1")) == [*NAMES, "new"]
    assert kept(pod("two").requests(cpu="2")) == ["cheap", "dear"]
    # Nodes that advertise no example.com/gpu are left to kube-scheduler.
    assert kept(pod("gpu").requests({"example.com/gpu": 2})) == [*NAMES, "new"]
    assert kept(pod("gpus").requests({"example.com/gpu": 3})) == [*NAMES]
    assert served.count("unknown_nodes_total") == 0


def test_a_carried_node_that_cannot_be_read_is_unknown() -> None:
    served = service(*THREE)
    items = [node("cheap").document, node("odd").cpu("4Gb").document]
    wanted = WANTED.annotation(hints.NODE_LABELS, "!gone")
    body = {"Pod": wanted.document, "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}
    answer = served.client.post("/filter", content=json.dumps(body).encode()).json()
    assert answer["FailedNodes"] == {"odd": UNKNOWN_NODE}


def test_a_rule_that_fails_never_blocks_a_pod() -> None:
    def broken(_pod: Pod) -> Policy:
        raise ZeroDivisionError

    served = service(*THREE, policy_of=broken)
    assert served.filter(WANTED, NAMES)["NodeNames"] == NAMES
    assert set(served.scores(WANTED, NAMES).values()) == {0}
    assert served.count("requests_total", verb="filter", outcome="failed") == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "truncated", id="nothing"),
        pytest.param(b"{", "truncated", id="half an object"),
        pytest.param(b"[]", "Expected `object`, got `array`", id="an array"),
        pytest.param(b'{"Pod": null}', "the request has no Pod", id="no pod"),
        pytest.param(b"\xff\xfe", "", id="not text"),
        pytest.param(b'{"Pod":{"metadata":{"name":"\xff"}},"NodeNames":[]}', "", id="broken text in a name"),
        pytest.param(
            request(WANTED, []).replace(b'"NodeNames": []', b'"NodeNames": null'),
            "pod default/web",
            id="no nodes",
        ),
        pytest.param(b'{"Pod":' + b"[" * 2_000, "", id="nested too deep"),
        pytest.param(
            request(WANTED, []).replace(b"[]", b"[7]"),
            "NodeNames: Expected `str`",
            id="a number as a node name",
        ),
        pytest.param(
            request(pod("cart").namespace("shop").requests(cpu="4Gb"), ["a"]),
            'reading quantity "4Gb" (cpu) of container "main" in pod shop/cart',
            id="an impossible quantity",
        ),
    ],
)
def test_a_malformed_request_gets_an_error_that_kube_scheduler_reads(body: bytes, message: str) -> None:
    served = service(*THREE)
    answer = served.client.post("/filter", content=body)
    assert answer.status_code == 200
    assert message in answer.json()["Error"]
    assert answer.json()["Error"]
    assert served.client.post("/prioritize", content=body).status_code == 400
    assert served.count("requests_total", verb="filter", outcome="malformed") == 1


def test_extra_keys_are_skipped() -> None:
    body = json.loads(request(WANTED.field("spec", "futureField", value=[1]), ["cheap"])) | {"NewKey": {}}
    assert service(*THREE).client.post("/filter", content=json.dumps(body)).json()["NodeNames"] == ["cheap"]


def test_a_rule_that_takes_too_long_rejects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb_module, "ANSWER_SECONDS", -1.0)
    served = service(*THREE)
    names = ["small", "cheap"]
    assert served.filter(WANTED, names)["NodeNames"] == names
    assert served.scores(WANTED, names) == {"small": 0, "cheap": 0}
    for each in ("filter", "prioritize"):
        assert served.count("requests_total", verb=each, outcome="late") == 1
