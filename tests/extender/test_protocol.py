"""The wire format by itself; tests/golden has what a real kube-scheduler sends."""

import json

import numpy as np
import pytest

from extender import protocol
from extender.protocol import BindRequest, Victims
from tests.builders import cluster_of, node, pod
from tradewind.errors import RequestError

_POD = pod("web").namespace("shop")


def body(**keys: object) -> bytes:
    return json.dumps({"Pod": _POD.document, **keys}).encode()


def test_a_request_by_names() -> None:
    request = protocol.decode(body(Nodes=None, NodeNames=["b", "a"]))
    assert (str(request.pod), request.names, request.items) == ("shop/web", ("b", "a"), None)


def test_a_request_with_whole_nodes() -> None:
    items = [node("a").document, node("b").document]
    request = protocol.decode(body(Nodes={"items": items}, NodeNames=None))
    assert request.names == ("a", "b")
    answer = json.loads(protocol.encode_filter(request, [1], {"a": "full"}, {}))
    assert answer["Nodes"]["items"] == [items[1]]
    assert (answer["NodeNames"], answer["FailedNodes"]) == (None, {"a": "full"})


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        pytest.param(b"{}", "the request has no Pod", id="nothing"),
        pytest.param(b'{"Pod":null}', "the request has no Pod", id="null"),
        pytest.param(body(), "pod shop/web has neither NodeNames nor Nodes", id="no nodes"),
        pytest.param(body(NodeNames="a"), "NodeNames: Expected `array`", id="one name"),
    ],
)
def test_a_request_that_cannot_be_answered(sent: bytes, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        protocol.decode(sent)


def test_names_that_all_pass_are_answered_as_they_were_sent() -> None:
    request = protocol.decode(body(NodeNames=["a", "b"]))
    kept = json.loads(protocol.encode_filter(request, range(2), {}, {}))
    some = json.loads(protocol.encode_filter(request, [0], {}, {"b": "why"}))
    assert kept == {
        "Nodes": None,
        "NodeNames": ["a", "b"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }
    assert some == kept | {"NodeNames": ["a"], "FailedAndUnresolvableNodes": {"b": "why"}}


def test_priorities_of_known_nodes_are_those_of_any_nodes() -> None:
    table = cluster_of([node(name) for name in ("a", "longer-name", "c")]).nodes.cluster.table
    rows, levels = np.array([2, 0, 1]), np.array([10, 0, 7])
    copied = json.loads(protocol.encode_known_priorities(table, rows, levels))
    assert copied == json.loads(protocol.encode_priorities(["c", "a", "longer-name"], [10, 0, 7]))
    assert [each["Score"] for each in copied] == [10, 0, 7]


def test_nothing_in_a_preempt_answer_is_null() -> None:
    sent = body(NodeNameToMetaVictims={"n": {"Pods": [None, {"UID": "u"}], "NumPDBViolations": 1}, "m": None})
    victims = protocol.decode_preempt(sent).victims
    assert victims == {"n": Victims(["u"], 1), "m": Victims([], 0)}
    answer = json.loads(protocol.encode_preempt(victims))
    assert answer == {
        "NodeNameToMetaVictims": {
            "n": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1},
            "m": {"Pods": [], "NumPDBViolations": 0},
        }
    }


def test_bind() -> None:
    sent = b'{"PodName":"web","PodNamespace":"shop","PodUID":"u","Node":"n"}'
    assert protocol.decode_bind(sent) == BindRequest("shop", "web", "u", "n")
    assert protocol.encode_bind() == b'{"Error":""}'
    with pytest.raises(RequestError):
        protocol.decode_bind(b'{"PodName":7}')
