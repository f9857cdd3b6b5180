"""What the API server is asked about a token and its owner, and what is made of its answers."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.kube.reviews import Reviews, User

ALICE = User("alice", "u-1", ("team", "system:authenticated"), {"scopes": ("a", "b")})


class FakeClient(Client):
    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.asked: list[tuple[str, Any]] = []

    def create(self, path: str, body: Any, seconds: float = 1.0) -> bytes:
        assert 0 < seconds <= 10, "nobody waits longer for an explanation"
        self.asked.append((path, body))
        return msgspec.json.encode(self._answer)


def test_a_known_token_has_an_owner() -> None:
    user = {"username": "alice", "uid": "u-1", "groups": ["team", "system:authenticated"]}
    client = FakeClient({"status": {"authenticated": True, "user": user | {"extra": {"scopes": ["a", "b"]}}}})
    found = Reviews(client).user_of("secret")
    assert found is not None
    assert (found.username, found.uid, tuple(found.groups)) == ("alice", "u-1", ALICE.groups)
    assert found.extra == {"scopes": ["a", "b"]}
    (path, body), *_ = client.asked
    assert path == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (body["kind"], body["spec"]) == ("TokenReview", {"token": "secret"})


@pytest.mark.parametrize(
    "status",
    [{"authenticated": False, "error": "invalid bearer token"}, {}, {"user": {"username": "alice"}}],
    ids=["refused", "nothing said", "a user who is not authenticated"],
)
def test_any_other_token_has_none(status: dict[str, Any]) -> None:
    assert Reviews(FakeClient({"status": status})).user_of("secret") is None


@pytest.mark.parametrize(
    ("status", "allowed"), [({"allowed": True}, True), ({"allowed": False}, False), ({}, False)]
)
def test_the_owner_is_named_whole_to_whoever_decides(status: dict[str, Any], allowed: bool) -> None:
    client = FakeClient({"status": status})
    assert Reviews(client).may_get(ALICE, "/explain") is allowed
    (path, body), *_ = client.asked
    assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert body["spec"] == {
        "user": "alice",
        "uid": "u-1",
        "groups": ("team", "system:authenticated"),
        "extra": {"scopes": ("a", "b")},
        "nonResourceAttributes": {"path": "/explain", "verb": "get"},
    }


@pytest.mark.parametrize("answer", ["nonsense", {}, {"status": {"allowed": "yes"}}])
@pytest.mark.parametrize("ask", [lambda r: r.user_of("x"), lambda r: r.may_get(ALICE, "/explain")])
def test_an_answer_that_makes_no_sense_lets_nobody_in(answer: Any, ask: Callable[[Reviews], object]) -> None:
    if answer == {"status": {"allowed": "yes"}} and "user_of" in ask.__code__.co_names:
        answer = {"status": {"authenticated": "yes"}}
    with pytest.raises(ApiError, match="cannot be read"):
        ask(Reviews(FakeClient(answer)))
