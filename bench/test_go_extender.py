"""The Go peer speaks the protocol: it answers what a real kube-scheduler asked."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import urllib3

from bench import contenders, service
from bench.contenders import Extender

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


@pytest.fixture(scope="module")
def extender() -> Iterator[Extender]:
    with contenders.served_go() as running:
        yield running


def ask(extender: Extender, verb: str, body: bytes) -> urllib3.BaseHTTPResponse:
    return urllib3.request("POST", f"{extender.process.address}/{verb}", body=body)


def test_it_keeps_every_node_and_scores_each_within_the_protocol(extender: Extender) -> None:
    body = (GOLDEN / "prioritize-names-plain.json").read_bytes()
    names = msgspec.json.decode(body)["NodeNames"]
    kept = msgspec.json.decode(ask(extender, "filter", body).data)
    assert kept["NodeNames"] == names
    assert not kept["FailedNodes"]
    scores = msgspec.json.decode(ask(extender, "prioritize", body).data)
    assert [entry["Host"] for entry in scores] == names
    assert all(entry["Score"] in range(11) for entry in scores)
    assert {verb: each.outcomes for verb, each in service.read(extender.metrics).items()} == {
        "filter": {"ok": 1},
        "prioritize": {"ok": 1},
    }


@pytest.mark.parametrize("body", [b"{", b'{"Pod":{},"NodeNames":null}', b'{"NodeNames":["a"]}'])
def test_what_it_cannot_read_is_an_error(extender: Extender, body: bytes) -> None:
    assert ask(extender, "filter", body).status == 400
