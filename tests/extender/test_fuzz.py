"""Odd requests: whatever comes, the answer is one that kube-scheduler can read, and no rule fails.

Captured requests are changed at random places; the seed in a failure's message brings its request back.
TRADEWIND_FUZZ sets how many requests each test tries.
"""

import asyncio
import json
import os
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from extender.metrics import ExtenderMetrics
from extender.verb import Answer
from extender.verbs import Verbs
from tradewind.config import document as config
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.source import from_file

_GOLDEN = Path(__file__).parents[1] / "golden"
_TRIES = int(os.environ.get("TRADEWIND_FUZZ", "1000"))
# Every filter has something to do.
_STRICT = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
preset: availability
rules: {durable_floor: {min: 1}, limits: {overcommit: {cpu: 1, memory: 1, ephemeral-storage: 2}}}
classes:
  - {name: odd, match: {labels: "app"}, weights: {eta: 3}}
"""
_ODD: list[Any] = [
    *(
        "",
        "0",
        "-1",
        "1e9",
        "4Gi",
        "4Gb",
        "NaN",
        "1e999",
        "50%",
        "a" * 300,
        "\x00",
        "\u00fc\U0001f600",
        "\ud800",
    ),
    *("In", "NotIn", "Exists", "Gt", "Lt", "Always", "DoNotSchedule", "kubernetes.io/hostname"),
    *("ssd,nvme", "true", "required", "preferred", "2026-01-01T00:00:00Z"),
    *(None, True, False, 0, -1, 2**31, 2**63, 2**70, -(2**64), 0.5, -1e300, float("nan"), float("inf")),
    *([], {}, [None], [[]], {"": None}, [{}], {"key": "a", "operator": "In", "values": None}),
]
_ANNOTATIONS = [
    *("disk-type", "disk-type-policy", "network-type", "network-type-policy"),
    *("durable-min", "durable-share", "durable-strict", "workload-class"),
]


@cache
def captured(verb: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted(_GOLDEN.glob(f"{verb}-*.json"))]


def changed(verb: str, chance: Random) -> bytes:
    """A captured request with a few values replaced or dropped, at times cut off."""
    body = json.loads(chance.choice(captured(verb)))
    if chance.random() < 0.5:
        annotations = body["Pod"]["metadata"].setdefault("annotations", {})
        annotations[f"tradewind.dev/{chance.choice(_ANNOTATIONS)}"] = chance.choice(_ODD[:24])
    for _ in range(chance.randint(0, 4)):
        places = list(_places(body))
        if places:
            holder, key = chance.choice(places)
            if isinstance(holder, dict) and chance.random() < 0.1:
                del holder[key]
            else:
                holder[key] = _odd_value(chance)
    data = json.dumps(body).encode()
    return data[: chance.randrange(len(data))] if chance.random() < 0.05 else data


def _odd_value(chance: Random) -> Any:
    if chance.random() < 0.3:
        return "".join(chance.choices(string.printable, k=chance.randint(0, 6)))
    return json.loads(json.dumps(chance.choice(_ODD)))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


class Service:
    def __init__(self) -> None:
        parts = Assembly(from_file(_GOLDEN / "cluster.json"), None)
        with parts.started():
            pass
        self.verbs = Verbs(parts, config.parse(_STRICT).policies().of, ExtenderMetrics())
        self._runner = asyncio.Runner()

    def ask(self, verb: str, body: bytes) -> Answer:
        answer = self._runner.run(getattr(self.verbs, verb)(body))
        assert isinstance(answer, Answer)
        assert answer.outcome in {"ok", "malformed"}
        return answer

    def close(self) -> None:
        self._runner.close()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("extender.lookup._WAIT_SECONDS", 0.0)  # no watch will bring these nodes
        built = Service()
        yield built
        built.close()


def names(body: dict[str, Any]) -> list[str]:
    if body.get("NodeNames") is not None:
        found: list[str] = body["NodeNames"]
        return found
    return [item["metadata"]["name"] for item in (body["Nodes"].get("items") or [])]


def check_filter(body: bytes, answer: Answer) -> None:
    assert answer.status == 200
    result = json.loads(answer.body)
    assert set(result) == {"Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"}
    assert isinstance(result["Error"], str)
    if result["Error"]:
        return
    kept = result["NodeNames"]
    if kept is None:
        kept = [item["metadata"]["name"] for item in result["Nodes"]["items"]]
    said = {**result["FailedNodes"], **result["FailedAndUnresolvableNodes"]}
    assert set(kept) | set(said) == set(names(json.loads(body)))
    assert not set(kept) & set(said)
    assert all(isinstance(reason, str) and reason for reason in said.values())


def check_prioritize(body: bytes, answer: Answer) -> None:
    if answer.status != 200:
        assert answer.status == 400
        return
    result = json.loads(answer.body)
    assert [entry["Host"] for entry in result] == names(json.loads(body))
    assert all(type(entry["Score"]) is int and 0 <= entry["Score"] <= 10 for entry in result)


def check_preempt(_body: bytes, answer: Answer) -> None:
    if answer.status != 200:
        assert answer.status == 400
        return
    for victims in json.loads(answer.body)["NodeNameToMetaVictims"].values():
        assert type(victims["NumPDBViolations"]) is int
        assert all(isinstance(pod["UID"], str) for pod in victims["Pods"])


@pytest.mark.parametrize(
    ("verb", "check"),
    [("filter", check_filter), ("prioritize", check_prioritize), ("preempt", check_preempt)],
)
def test_changed_requests(service: Service, verb: str, check: Any) -> None:
    malformed = 0
    for seed in range(_TRIES):
        body = changed(verb, Random(seed))
        try:
            answer = service.ask(verb, body)
            check(body, answer)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {body!r}") from error
        malformed += answer.outcome == "malformed"
    assert 0 < malformed < _TRIES  # neither only sense nor only nonsense was tried


def test_random_bytes(service: Service) -> None:
    for seed in range(_TRIES):
        for verb in ("filter", "prioritize", "preempt"):
            assert service.ask(verb, Random(seed).randbytes(seed % 200)).outcome == "malformed"
