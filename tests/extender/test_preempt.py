import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.extender.served import Service, service

_URGENT = pod("urgent").requests(cpu="3").priority(1000)
_RATE = "tradewind.dev/interruption-rate"


def victim(
    name: str, place: str, *, cpu: str = "4", priority: int = 0, created: str = "2026-01-01"
) -> PodBuilder:
    built = pod(name).requests(cpu=cpu).priority(priority).on(place)
    return built.field("metadata", "creationTimestamp", value=f"{created}T00:00:00Z")


def cluster(nodes: list[NodeBuilder], pods: list[PodBuilder]) -> Service:
    served = service(*nodes)
    for each in pods:
        served.cluster.cache.apply_pod(each.build())
    return served


def ask(
    served: Service, victims: dict[str, list[str]], budgets: dict[str, int] | None = None
) -> dict[str, Any]:
    meta = {
        name: {
            "Pods": [{"UID": f"default/{uid}"} for uid in uids],
            "NumPDBViolations": (budgets or {}).get(name, 0),
        }
        for name, uids in victims.items()
    }
    body = {"Pod": _URGENT.document, "NodeNameToVictims": None, "NodeNameToMetaVictims": meta}
    answer = served.client.post("/preempt", content=json.dumps(body).encode())
    assert answer.status_code == 200
    assert "null" not in answer.text
    chosen: dict[str, Any] = answer.json()["NodeNameToMetaVictims"]
    return chosen


def uids(chosen: dict[str, Any]) -> dict[str, list[str]]:
    return {name: [each["UID"].removeprefix("default/") for each in v["Pods"]] for name, v in chosen.items()}


@pytest.mark.parametrize(
    ("a", "b", "better"),
    [
        pytest.param({"priority": 5}, {"priority": -5}, "b", id="the lower priority is lost"),
        pytest.param({"created": "2025-01-01"}, {"created": "2026-06-01"}, "b", id="the younger pod is lost"),
        pytest.param(
            {"priority": 0, "created": "2026-06-01"},
            {"priority": 1, "created": "2025-01-01"},
            "a",
            id="priority goes before age",
        ),
    ],
)
def test_the_cheapest_loss_is_kept(a: dict[str, Any], b: dict[str, Any], better: str) -> None:
    served = cluster([node("a"), node("b")], [victim("x", "a", **a), victim("y", "b", **b)])
    assert list(ask(served, {"a": ["x"], "b": ["y"]})) == [better]


def test_fewer_broken_budgets_go_before_all_else() -> None:
    served = cluster([node("a"), node("b")], [victim("x", "a", priority=-9), victim("y", "b", priority=9)])
    chosen = ask(served, {"a": ["x"], "b": ["y"]}, {"a": 1})
    assert chosen == {"b": {"Pods": [{"UID": "default/y"}], "NumPDBViolations": 0}}


def test_what_is_about_to_vanish_is_lost_cheaply() -> None:
    nodes = [node("a"), node("b").annotation(_RATE, "0.5")]
    served = cluster(nodes, [victim("x", "a"), victim("y", "b")])
    assert list(ask(served, {"a": ["x"], "b": ["y"]})) == ["b"]


def test_two_victims_cost_more_than_one() -> None:
    pods = [victim("x1", "a", cpu="2"), victim("x2", "a", cpu="2"), victim("y", "b")]
    assert uids(ask(cluster([node("a"), node("b")], pods), {"a": ["x1", "x2"], "b": ["y"]})) == {"b": ["y"]}


def test_a_node_that_our_filters_would_still_reject_is_dropped() -> None:
    # Evicting x leaves only 2 of 4 cores on a: our resources filter says no, whatever kube-scheduler thinks.
    pods = [victim("x", "a", cpu="2", priority=-9), victim("stays", "a", cpu="2"), victim("y", "b")]
    served = cluster([node("a"), node("b")], pods)
    assert uids(ask(served, {"a": ["x"], "b": ["y"]})) == {"b": ["y"]}
    assert ask(served, {"a": ["x"]}) == {}


def test_victims_are_never_changed() -> None:
    served = cluster([node("a")], [victim("x", "a", cpu="3"), victim("z", "a", cpu="1")])
    assert uids(ask(served, {"a": ["x", "z"]})) == {"a": ["x", "z"]}


def test_unknown_victims_are_kube_schedulers_to_judge() -> None:
    served = cluster([node("a").cpu("1")], [])
    assert uids(ask(served, {"a": ["ghost"]})) == {"a": ["ghost"]}


def test_a_pod_that_our_watch_has_not_brought_is_not_taken_for_the_cheapest_loss() -> None:
    """It may have any priority: kube-scheduler, which knows it, chooses among all that we accept."""
    pods = [victim("low", "a", priority=1), victim("half", "c", cpu="2"), victim("stays", "c", cpu="2")]
    served = cluster([node("a"), node("b"), node("c")], pods)
    asked = {"a": ["low"], "b": ["not-here-yet"], "c": ["half"]}  # on c 2 of 4 cores are free, 3 are asked
    assert uids(ask(served, asked)) == {"a": ["low"], "b": ["not-here-yet"]}


def test_one_unknown_victim_among_known_ones_leaves_the_choice_to_kube_scheduler() -> None:
    served = cluster([node("a"), node("b")], [victim("low", "a", priority=1), victim("y", "b", priority=9)])
    asked = {"a": ["low"], "b": ["y", "not-here-yet"]}
    assert uids(ask(served, asked)) == asked


def test_whole_victims_are_known_from_the_request_itself() -> None:
    served = cluster([node("a"), node("b")], [victim("x", "a", priority=5)])
    whole = {"a": victim("x", "a", priority=5), "b": victim("not-here-yet", "b", priority=1)}
    victims = {name: {"Pods": [each.document], "NumPDBViolations": 0} for name, each in whole.items()}
    body = {"Pod": _URGENT.document, "NodeNameToVictims": victims}
    answer = served.client.post("/preempt", content=json.dumps(body).encode())
    assert uids(answer.json()["NodeNameToMetaVictims"]) == {"b": ["not-here-yet"]}


def test_empty_lists_and_unknown_nodes_are_left_out() -> None:
    served = cluster([node("a")], [victim("x", "a")])
    assert ask(served, {"a": []}) == {}
    assert ask(served, {"ghost": ["x"]}) == {}
    assert ask(served, {}) == {}


@pytest.mark.parametrize(
    "odd", [None, {"Pods": None, "NumPDBViolations": 0}, {"Pods": [None], "NumPDBViolations": 0}]
)
def test_nulls_are_survived_and_never_sent(odd: object) -> None:
    served = cluster([node("a"), node("b")], [victim("y", "b")])
    good = {"Pods": [{"UID": "default/y"}], "NumPDBViolations": 0}
    body = {"Pod": _URGENT.document, "NodeNameToMetaVictims": {"a": odd, "b": good}}
    answer = served.client.post("/preempt", content=json.dumps(body).encode())
    assert answer.json() == {"NodeNameToMetaVictims": {"b": good}}


def test_before_the_first_list_everything_stays_as_it_is() -> None:
    assert uids(ask(service(synced=False), {"a": ["x"], "b": []})) == {"a": ["x"], "b": []}


def test_a_rule_that_takes_too_long_leaves_the_choice_to_kube_scheduler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = cluster([node("a"), node("b")], [victim("x", "a"), victim("y", "b", priority=1)])
    assert uids(ask(served, {"a": ["x"], "b": ["y"]})) == {"a": ["x"]}
    monkeypatch.setattr("extender.verb.ANSWER_SECONDS", -1.0)
    assert uids(ask(served, {"a": ["x"], "b": ["y"]})) == {"a": ["x"], "b": ["y"]}
    assert served.count("requests_total", verb="preempt", outcome="late") == 1


@pytest.mark.parametrize("mode", ["names", "nodes"])
def test_captured_requests(mode: str) -> None:
    golden = Path(__file__).parents[1] / "golden"
    items = json.loads((golden / "cluster.json").read_bytes())["items"]
    nodes = [NodeBuilder(each) for each in items if each["kind"] == "Node"]
    served = cluster(nodes, [PodBuilder(each) for each in items if each["kind"] == "Pod"])
    body = json.loads((golden / f"preempt-{mode}-urgent.json").read_bytes())
    answer = served.client.post("/preempt", content=json.dumps(body).encode()).json()["NodeNameToMetaVictims"]
    assert len(answer) == 1
    candidates = body["NodeNameToMetaVictims"] or body["NodeNameToVictims"]
    for name, victims in answer.items():
        assert name in candidates
        sent = [p.get("UID") or p["metadata"]["uid"] for p in candidates[name]["Pods"]]
        assert [each["UID"] for each in victims["Pods"]] == sent
