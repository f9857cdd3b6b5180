"""How many pods a ReplicaSet or a Job wants, by what it says of itself."""

import json
from typing import Any

import pytest

from tradewind.controller.wanted_pods import WantedPods
from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client

_FAILED = [{"type": "Suspended", "status": "False"}, {"type": "Failed", "status": "True"}]


class _Api(Client):
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.read: list[str] = []

    def get(self, path: str, seconds: float = 10.0) -> bytes:
        del seconds
        self.read.append(path)
        if isinstance(self.answer, ApiError):
            raise self.answer
        return json.dumps(self.answer).encode()


def _deleted(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec}


def _job(*, succeeded: int = 0, conditions: Any = (), **spec: Any) -> dict[str, Any]:
    return {"spec": spec, "status": {"succeeded": succeeded, "conditions": list(conditions)}}


@pytest.mark.parametrize(
    ("kind", "answer", "expected"),
    [
        pytest.param("ReplicaSet", {"spec": {"replicas": 4}}, 4, id="replicas"),
        pytest.param("ReplicaSet", {"spec": {}}, 1, id="one replica if nothing is said"),
        pytest.param("ReplicaSet", _deleted(replicas=4), 0, id="of one that is deleted none is to come"),
        pytest.param("Job", _job(), 1, id="one pod if nothing is said"),
        pytest.param("Job", _job(parallelism=3, completions=10), 3, id="three at a time"),
        pytest.param("Job", _job(parallelism=3, completions=2), 2, id="no more than there are"),
        pytest.param("Job", _job(parallelism=3, completions=10, succeeded=8), 2, id="two are left"),
        pytest.param("Job", _job(parallelism=3, completions=10, succeeded=10), 0, id="all are done"),
        pytest.param("Job", _job(parallelism=3), 3, id="a queue of work"),
        pytest.param("Job", _job(parallelism=3, succeeded=1), 0, id="a queue that is empty"),
        pytest.param("Job", _job(parallelism=3, suspend=True), 0, id="suspended"),
        pytest.param("Job", _job(parallelism=3, conditions=_FAILED), 0, id="failed"),
        pytest.param("Job", _deleted(parallelism=3), 0, id="deleted"),
    ],
)
def test_wanted(kind: str, answer: Any, expected: int) -> None:
    assert WantedPods(_Api(answer)).of(kind, "shop", "x") == expected


def test_each_kind_has_its_path() -> None:
    api = _Api({})
    for kind in ("ReplicaSet", "Job"):
        WantedPods(api).of(kind, "shop", "x")
    assert api.read == [
        "/apis/apps/v1/namespaces/shop/replicasets/x",
        "/apis/batch/v1/namespaces/shop/jobs/x",
    ]


def test_what_is_gone_wants_nothing_and_nobody_complains(caplog: pytest.LogCaptureFixture) -> None:
    assert WantedPods(_Api(NotFoundError("gone", 404))).of("Job", "shop", "x") is None
    assert caplog.messages == []


def test_without_the_right_that_is_said_once_of_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    api = _Api(ApiError("the API server answers 403: no", 403))
    reader = WantedPods(api)
    for name in ("a", "b"):
        assert reader.of("ReplicaSet", "shop", name) is None
        assert reader.of("Job", "shop", name) is None
    assert [each.split(": ")[0].rpartition(" ")[2] for each in caplog.messages] == [
        "/apis/apps/v1/namespaces/shop/replicasets/a",
        "/apis/batch/v1/namespaces/shop/jobs/a",
    ]
    assert all("403" in each for each in caplog.messages)
    api.answer = {}
    reader.of("Job", "shop", "a")
    api.answer = ApiError("the API server answers 500: no", 500)
    reader.of("Job", "shop", "a")
    assert len(caplog.messages) == 3, "it worked in between"
