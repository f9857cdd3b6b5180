"""What moves ask of the API server, and what its refusals mean."""

from typing import Any

import msgspec
import pytest

from tests.builders import pod
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.move_hands import MoveHands
from tradewind.errors import ApiError, ConflictError, NotFoundError
from tradewind.kube.client import Client
from tradewind.planner.moves.ledger import Ledger, booking
from tradewind.planner.plan_annotation import MOVE, PlanAnnotation

_POD = pod("a").namespace("shop").uid("u1").owner("ReplicaSet", "web", "web").on("n").build()


class _Api(Client):
    """Answers from `answers` by path, or raises what is there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: dict[str, bytes | ApiError] = {}

    def _request(self, method: str, path: str, body: Any, content_type: str, seconds: float) -> bytes:
        del content_type, seconds
        self.asked.append((method, path, body))
        answer = self.answers.get(f"{method} {path.rpartition('/')[2]}", b"{}")
        if isinstance(answer, ApiError):
            raise answer
        return answer


def hands(api: _Api, *, leading: bool = True) -> MoveHands:
    return MoveHands(api, "tradewind-system", PlanMetrics(), lambda: leading)


def test_a_dry_run_evicts_nothing_and_both_are_of_this_pod_alone() -> None:
    api = _Api()
    assert hands(api).evict(_POD, dry_run=True) is None
    assert hands(api).evict(_POD) is None
    (_, path, dry), (_, same, real) = api.asked
    assert path == same == "/api/v1/namespaces/shop/pods/a/eviction"
    assert dry["deleteOptions"] == {"preconditions": {"uid": "u1"}, "dryRun": ["All"]}
    assert real["deleteOptions"] == {"preconditions": {"uid": "u1"}}


@pytest.mark.parametrize(
    ("error", "again"),
    [
        pytest.param(ApiError("would violate the budget", 429), True, id="a budget"),
        pytest.param(NotFoundError("gone", 404), False, id="gone"),
        pytest.param(ConflictError("UID in precondition", 409), False, id="another pod of that name"),
        pytest.param(ApiError("forbidden", 403), False, id="no right"),
    ],
)
def test_refusals(error: ApiError, *, again: bool) -> None:
    api = _Api()
    api.answers["POST eviction"] = error
    refused = hands(api).evict(_POD)
    assert refused is not None
    assert (refused.text, refused.again) == (str(error), again)


def test_who_does_not_lead_evicts_and_records_nothing() -> None:
    api = _Api()
    assert hands(api, leading=False).evict(_POD) is not None
    assert not hands(api, leading=False).save(Ledger())
    assert api.asked == []


def test_reservations_are_annotations_and_only_those_are_taken_back() -> None:
    api, place = _Api(), PlanAnnotation("m", 100.0)
    mine = hands(api)
    assert mine.reserve(_POD, place)
    mine.release([_POD, pod("other").build()])
    patches = [(path, body["metadata"]) for method, path, body in api.asked if method == "PATCH"]
    assert patches == [
        (
            "/api/v1/namespaces/shop/pods/a",
            {"uid": "u1", "annotations": {MOVE: place._replace(uid="u1").text()}},
        ),
        ("/api/v1/namespaces/shop/pods/a", {"uid": "u1", "annotations": {MOVE: None}}),
    ]
    api.answers["PATCH a"] = ApiError("no", 500)
    assert not mine.reserve(_POD, place)


def test_the_record_is_read_as_it_was_written() -> None:
    api = _Api()
    api.answers["GET tradewind-moves"] = NotFoundError("none yet", 404)
    api.answers["POST configmaps"] = b'{"metadata": {"resourceVersion": "1"}}'
    mine = hands(api)
    assert mine.load() == Ledger()
    ledger = Ledger(under_way=(booking(_POD, 5.0),), node="n", nodes={"o": 1.0})
    assert mine.save(ledger)
    data = api.asked[-1][2]["data"]
    stored = msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "data": data})
    api.answers["GET tradewind-moves"] = stored
    assert hands(api).load() == ledger


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(ApiError("no", 500), id="cannot be read"),
        pytest.param(
            b'{"metadata": {"resourceVersion": "1"}, "data": {"evictions.json": "{"}}', id="makes no sense"
        ),
    ],
)
def test_without_a_record_there_are_no_moves(answer: bytes | ApiError) -> None:
    api = _Api()
    api.answers["GET tradewind-moves"] = answer
    assert hands(api).load() is None


def test_budgets_that_cannot_be_listed_are_not_taken_for_none() -> None:
    api = _Api()
    api.answers["GET poddisruptionbudgets"] = ApiError("forbidden", 403)
    assert hands(api).budgets() is None
    one = {"metadata": {"name": "b", "namespace": "shop"}, "status": {"disruptionsAllowed": 0}}
    api.answers["GET poddisruptionbudgets"] = msgspec.json.encode({"items": [one]})
    [budget] = hands(api).budgets() or []
    assert (str(budget), budget.allowed) == ("shop/b", 0)
