"""In the shadow: answers as if Tradewind were not there, and a record of what it would have said."""

import json

import pytest

from tests.builders import pod
from tests.extender.served import NAMES, THREE, WANTED, Service, service
from tradewind.explain.decisions import Decision, Decisions
from tradewind.explain.explanation import explain


@pytest.fixture
def decisions() -> Decisions:
    return Decisions(10, 60)


@pytest.fixture
def served(decisions: Decisions) -> Service:
    return service(*THREE, decisions=decisions, shadow=lambda: True)


def _decision(decisions: Decisions) -> Decision:
    found = decisions.find("default", "web")
    assert found is not None
    return found


def test_every_node_passes_and_none_is_preferred(served: Service) -> None:
    assert served.filter(WANTED, NAMES) == {
        "Nodes": None,
        "NodeNames": NAMES,
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    assert served.scores(WANTED, NAMES) == dict.fromkeys(NAMES, 0)
    for verb in ("filter", "prioritize"):
        assert served.count("requests_total", verb=verb, outcome="shadow") == 1


def test_no_victim_is_chosen(served: Service) -> None:
    victims = {"cheap": {"Pods": [{"UID": "a"}], "NumPDBViolations": 0}, "dear": {"Pods": [{"UID": "b"}]}}
    body = {"Pod": WANTED.document, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}
    answer = served.client.post("/preempt", content=json.dumps(body).encode()).json()
    assert set(answer["NodeNameToMetaVictims"]) == {"cheap", "dear"}


def test_unknown_nodes_are_not_waited_for(served: Service) -> None:
    assert served.filter(WANTED, ["nobody knows it"])["NodeNames"] == ["nobody knows it"]


def test_what_would_have_been_answered_is_recorded(served: Service, decisions: Decisions) -> None:
    served.filter(WANTED, NAMES)
    served.scores(WANTED, NAMES)  # kube-scheduler names all of them again
    found = _decision(decisions)
    assert found.shadow
    assert found.filtering is not None
    assert found.filtering.passed == 2
    assert found.ranking is not None
    assert found.ranking.names == ("cheap", "dear"), "what would have been rejected is not ranked"


def test_the_sentences_say_that_nobody_was_told(served: Service, decisions: Decisions) -> None:
    served.filter(WANTED, NAMES)
    served.scores(WANTED, NAMES)
    told = " ".join(explain("default/web", _decision(decisions), WANTED.on("dear").build()).sentences)
    assert "Tradewind would have preferred cheap" in told
    assert "kube-scheduler chose dear, number 2 here: it was not told" in told
    told = " ".join(explain("default/web", _decision(decisions), WANTED.on("small").build()).sentences)
    assert "kube-scheduler chose small, which Tradewind would have rejected" in told
    assert "outweighed" not in told


def test_going_live_needs_no_restart(decisions: Decisions) -> None:
    shadow = True
    served = service(*THREE, decisions=decisions, shadow=lambda: shadow)
    assert served.filter(WANTED, NAMES)["NodeNames"] == NAMES
    shadow = False
    assert served.filter(WANTED, NAMES)["NodeNames"] == ["cheap", "dear"]
    assert not _decision(decisions).shadow


def test_a_fault_in_the_record_changes_no_answer(decisions: Decisions) -> None:
    def broken(_pod: object) -> None:
        raise ZeroDivisionError

    served = service(*THREE, decisions=decisions, shadow=lambda: True, policy_of=broken)  # type: ignore[arg-type]
    assert served.filter(pod("web"), NAMES)["NodeNames"] == NAMES
    assert served.count("requests_total", verb="filter", outcome="shadow") == 1
