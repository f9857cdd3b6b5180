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


def hands(api: Client, *, leading: bool = True) -> MoveHands:
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
    ("error", "again", "unsure"),
    [
        pytest.param(ApiError("would violate the budget", 429), True, False, id="a budget"),
        pytest.param(NotFoundError("gone", 404), False, False, id="gone"),
        pytest.param(ConflictError("UID in precondition", 409), False, False, id="another pod of that name"),
        pytest.param(ApiError("forbidden", 403), False, False, id="no right"),
        pytest.param(ApiError("the API server has fallen silent"), False, True, id="a timeout"),
        pytest.param(ApiError("internal error", 500), False, True, id="a broken server"),
        pytest.param(ApiError("gateway timeout", 504), False, True, id="a proxy that lost the answer"),
    ],
)
def test_refusals(error: ApiError, *, again: bool, unsure: bool) -> None:
    api = _Api()
    api.answers["POST eviction"] = error
    refused = hands(api).evict(_POD)
    assert refused is not None
    assert (refused.text, refused.again, refused.unsure) == (str(error), again, unsure)


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


class _Stored(Client):
    """One ConfigMap, with versions as the API server keeps them."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.version = 0
        self.lose_answer = False

    def _request(self, method: str, path: str, body: Any, content_type: str, seconds: float) -> bytes:
        del path, content_type, seconds
        if method == "GET" and self.data is None:
            raise NotFoundError("none", 404)
        if method != "GET":
            expected = str(self.version) if self.data is not None else None
            if body["metadata"]["resourceVersion"] != expected:
                raise ConflictError("it has changed", 409)
            self.version, self.data = self.version + 1, body["data"]
            if self.lose_answer:
                self.lose_answer = False
                raise ApiError("the API server has fallen silent")
        return msgspec.json.encode({"metadata": {"resourceVersion": str(self.version)}, "data": self.data})

    def ledger(self) -> Ledger:
        return msgspec.json.decode((self.data or {})["evictions.json"], type=Ledger)


_BOOKED = Ledger(evictions=(booking(_POD, 5.0),), nodes={"n": 5.0})


def test_a_label_on_the_record_does_not_end_moves() -> None:
    api = _Stored()
    mine = hands(api)
    mine.load()
    assert mine.save(Ledger(nodes={"n": 1.0}))
    api.version += 1  # whatever was written, the data is as before
    assert mine.save(_BOOKED) == _BOOKED
    assert mine.publish("a list")
    assert api.ledger() == _BOOKED


def test_a_lost_answer_does_not_end_moves_and_what_was_given_back_stays_so() -> None:
    api = _Stored()
    mine = hands(api)
    mine.load()
    api.lose_answer = True
    assert mine.save(Ledger(under_way=(booking(_POD, 5.0),), node="n")) is None
    assert mine.save(Ledger(nodes={"n": 5.0})) == Ledger(nodes={"n": 5.0}) == api.ledger()


def test_what_another_has_booked_is_kept() -> None:
    api, other = _Stored(), pod("b").uid("u2").owner("ReplicaSet", "api", "api").build()
    mine, theirs = hands(api), hands(api)
    for each in (mine, theirs):
        each.load()
    assert theirs.save(Ledger(under_way=(booking(other, 7.0),), node="m"))
    stored = mine.save(_BOOKED)
    assert stored == api.ledger()
    assert [each.uid for each in api.ledger().evictions] == ["u1", "u2"]


def test_a_record_that_was_deleted_or_scribbled_on_is_written_again() -> None:
    api = _Stored()
    mine = hands(api)
    mine.load()
    assert mine.save(_BOOKED)
    api.data = None
    assert mine.save(_BOOKED)
    api.data, api.version = {"evictions.json": "{"}, api.version + 1
    assert mine.save(_BOOKED)
    assert api.ledger() == _BOOKED


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
