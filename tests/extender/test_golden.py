"""Requests that a real kube-scheduler sent, and the cluster as it was; `python -m e2e.capture` makes them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from extender.app import App, add_verbs
from extender.metrics import ExtenderMetrics
from extender.protocol import decode
from extender.verbs import Verbs
from scoring.filters.resources import Resources
from tradewind.config.document import DEFAULT
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file

_GOLDEN = Path(__file__).parents[1] / "golden"


def captured(verb: str) -> list[Path]:
    files = sorted(_GOLDEN.glob(f"{verb}-*.json"))
    assert files
    return files


@pytest.fixture(scope="module")
def client() -> TestClient:
    parts = Assembly(from_file(_GOLDEN / "cluster.json"), None)
    with parts.started():
        pass
    app = App()
    policy = replace(DEFAULT.policies().default, filters=(Resources(),))  # the pods' wishes are ours alone
    add_verbs(app, Verbs(parts, lambda _: policy, ExtenderMetrics()), 2**20)
    return TestClient(app)


def sent_names(body: dict[str, Any]) -> list[str]:
    names: list[str] | None = body["NodeNames"]
    return names if names is not None else [item["metadata"]["name"] for item in body["Nodes"]["items"]]


# The urgent pod's request came after its victims were evicted, who are still in the captured cluster.
_UNDISTURBED = [file for file in captured("filter") if not file.stem.endswith("urgent")]


@pytest.mark.parametrize("file", _UNDISTURBED, ids=lambda file: file.stem)
def test_nodes_that_kube_scheduler_found_to_fit_are_kept(client: TestClient, file: Path) -> None:
    body = json.loads(file.read_bytes())
    answer = client.post("/filter", content=file.read_bytes()).json()
    assert answer["Error"] == ""
    assert answer["NodeNames"] == body["NodeNames"]
    if body["Nodes"] is not None:
        assert answer["Nodes"]["items"] == body["Nodes"]["items"]
    assert not answer["FailedNodes"]
    assert not answer["FailedAndUnresolvableNodes"]


@pytest.mark.parametrize("file", captured("prioritize"), ids=lambda file: file.stem)
def test_every_node_gets_a_level(client: TestClient, file: Path) -> None:
    answer = client.post("/prioritize", content=file.read_bytes()).json()
    assert [entry["Host"] for entry in answer] == sent_names(json.loads(file.read_bytes()))
    assert all(type(entry["Score"]) is int and 0 <= entry["Score"] <= 10 for entry in answer)
    assert any(entry["Score"] == 10 for entry in answer)


@pytest.mark.parametrize(
    ("name", "requests"),
    [
        # migrate alone: 2 cores; warm beside the sidecar: 1.5 + 0.1; running: 0.5 + 0.1. Memory: 1Gi + 128Mi.
        (
            "init-and-sidecar",
            {"cpu": 2000, "memory": 1152 * 2**20, "ephemeral-storage": 2 * 2**30, "pods": 1},
        ),
        ("no-requests", {"pods": 1}),
    ],
)
def test_requests_of_captured_pods(name: str, requests: dict[str, int]) -> None:
    pod = decode((_GOLDEN / f"filter-names-{name}.json").read_bytes()).pod
    assert dict(pod.requests) == requests
