"""Who is let in to what people look at, and what happens to everybody else."""

import asyncio
import threading
from dataclasses import dataclass, field

import httpx2
import pytest
from prometheus_client import CollectorRegistry, Counter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from tradewind.errors import ApiError
from tradewind.kube.reviews import User
from tradewind.runtime.guard import LoopbackGuard, TokenGuard


async def _page(_: Request) -> PlainTextResponse:
    return PlainTextResponse("secret")


APP = Starlette(routes=[Route("/explain/{pod}", _page), Route("/page", _page)])


@dataclass
class FakeReviewer:
    """Alice may look, Bob may not, and nobody else is known."""

    down: bool = False
    asked: list[str] = field(default_factory=list)
    busy: threading.Event | None = None  # reviews wait for it

    def user_of(self, token: str) -> User | None:
        self.asked.append(token)
        if self.busy:
            self.busy.wait(10)
        if self.down:
            raise ApiError("the connection to the API server failed: refused")
        return User(token) if token in {"alice", "bob"} else None

    def may_get(self, user: User, path: str) -> bool:
        assert path == "/explain"
        return user.username == "alice"


@dataclass
class Guarded:
    reviewer: FakeReviewer = field(default_factory=FakeReviewer)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = Counter("tradewind_explain_requests", "x", ["outcome"], registry=self.registry)
        self.app = TokenGuard(APP, self.reviewer, "/explain", counter, lambda: self.now)

    def get(self, token: str = "", path: str = "/explain/a", client: str = "10.0.0.1") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return TestClient(self.app, client=(client, 5000)).get(path, headers=headers)

    def count(self, outcome: str) -> float:
        return self.registry.get_sample_value("tradewind_explain_requests_total", {"outcome": outcome}) or 0.0


@pytest.mark.parametrize(
    ("token", "status", "said"),
    [
        ("", 401, "a bearer token of this cluster is needed"),
        ("mallory", 401, "the API server does not know this token"),
        ("x" * 20_000, 401, "a bearer token of this cluster is needed"),
        ("bob", 403, "no role lets bob get /explain"),
        ("alice", 200, "secret"),
    ],
    ids=["no token", "unknown", "absurdly long", "not allowed", "allowed"],
)
@pytest.mark.parametrize("path", ["/explain/a", "/page"])
def test_only_who_may_is_let_in_to_whatever_is_there(token: str, status: int, said: str, path: str) -> None:
    answer = Guarded().get(token, path)
    assert (answer.status_code, said in answer.text) == (status, True)
    assert ("secret" in answer.text) == (status == 200)
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)


@pytest.mark.parametrize("header", ["Basic YTpi", "alice", "Bearer", "Bearer  "])
def test_other_credentials_are_no_token(header: str) -> None:
    guarded = Guarded()
    answer = TestClient(guarded.app).get("/page", headers={"Authorization": header})
    assert (answer.status_code, guarded.reviewer.asked) == (401, [])


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_is_ever_changed(method: str) -> None:
    guarded = Guarded()
    headers = {"Authorization": "Bearer alice"}
    answer = TestClient(guarded.app).request(method, "/page", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    loopback = TestClient(LoopbackGuard(APP), base_url="http://127.0.0.1:8890")
    assert loopback.request(method, "/page").status_code == 405


def test_without_an_api_server_nobody_is_let_in_and_the_next_try_counts_afresh() -> None:
    guarded = Guarded(FakeReviewer(down=True))
    for _ in range(20):  # no try of the caller's fails here
        answer = guarded.get("alice")
        assert (answer.status_code, "refused" in answer.json()["detail"]) == (503, True)
    guarded.reviewer.down = False
    assert guarded.get("alice").status_code == 200
    assert (guarded.count("unavailable"), guarded.count("allowed")) == (20, 1)


def test_a_verdict_is_kept_for_ten_seconds() -> None:
    guarded = Guarded()
    for token, status in (("alice", 200), ("bob", 403), ("mallory", 401)):
        for now in (0.0, 9.0):
            guarded.now = now
            assert guarded.get(token).status_code == status
        assert guarded.reviewer.asked == [token]
        guarded.now = 10.5
        assert guarded.get(token).status_code == status
        assert guarded.reviewer.asked == [token, token]
        guarded.reviewer.asked.clear()
        guarded.now = 0.0


def test_ten_bad_tokens_of_one_address_are_reviewed_in_a_second() -> None:
    guarded = Guarded()
    assert [guarded.get(f"guess-{number}").status_code for number in range(11)] == [*[401] * 10, 429]
    assert guarded.get("bob").headers["retry-after"] == "1"
    assert len(guarded.reviewer.asked) == 10
    assert guarded.get("bob", client="10.0.0.2").status_code == 403
    guarded.now = 1.5
    assert guarded.get("alice").status_code == 200
    assert (guarded.count("throttled"), guarded.count("unauthenticated")) == (2, 10)


def test_bad_tokens_keep_nobody_out_who_was_let_in_from_the_same_address() -> None:
    """Behind one NAT or proxy all have one address."""
    guarded = Guarded()
    assert guarded.get("alice").status_code == 200
    for second in range(60):
        guarded.now = second + 0.5
        assert 429 in {guarded.get(f"guess-{second}-{number}").status_code for number in range(15)}
        assert guarded.get("alice").status_code == 200
    assert guarded.reviewer.asked.count("alice") == 6


def test_a_few_bad_tokens_now_and_then_add_up_to_nothing() -> None:
    guarded = Guarded()
    for second in range(60):
        guarded.now = float(second)
        statuses = [guarded.get(token).status_code for token in (f"expired-{second}", "bob", "alice")]
        assert statuses == [401, 403, 200]


def test_guesses_that_come_at_once_are_counted_too() -> None:
    guarded = Guarded(FakeReviewer(busy=threading.Event()))
    assert guarded.reviewer.busy

    async def ask(token: str) -> int:
        transport = httpx2.ASGITransport(app=guarded.app, client=("10.0.0.1", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            return (await client.get("/page", headers={"Authorization": f"Bearer {token}"})).status_code

    async def all_at_once(tokens: list[str]) -> list[int]:
        asking = [asyncio.create_task(ask(token)) for token in tokens]
        await asyncio.sleep(0.1)
        assert guarded.reviewer.busy
        guarded.reviewer.busy.set()
        return list(await asyncio.gather(*asking))

    assert sorted(asyncio.run(all_at_once([f"guess-{n}" for n in range(30)]))) == [*[401] * 10, *[429] * 20]


def test_one_token_is_reviewed_once_for_all_who_wait() -> None:
    guarded = Guarded(FakeReviewer(busy=threading.Event()))

    async def ask() -> int:
        transport = httpx2.ASGITransport(app=guarded.app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
            return (await client.get("/page", headers={"Authorization": "Bearer alice"})).status_code

    async def all_at_once() -> list[int]:
        asking = [asyncio.create_task(ask()) for _ in range(30)]
        await asyncio.sleep(0.1)
        assert guarded.reviewer.busy
        asking[0].cancel()  # hangs up; the others go on
        guarded.reviewer.busy.set()
        return list(await asyncio.gather(*asking[1:]))

    assert asyncio.run(all_at_once()) == [200] * 29
    assert guarded.reviewer.asked == ["alice"]


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8890", 200),
        ("localhost:40123", 200),
        ("LOCALHOST", 200),
        ("[::1]:8890", 200),
        ("evil.example:8890", 403),
        ("127.0.0.1.evil.example", 403),
        ("[::1].evil.example", 403),
        ("localhost:80:evil.example", 403),
        ("", 403),
    ],
)
def test_loopback_answers_to_its_own_names_only(host: str, status: int) -> None:
    answer = TestClient(LoopbackGuard(APP)).get("/explain/a", headers={"Host": host})
    assert answer.status_code == status
