"""How writes are repeated, bounded and authenticated; TLS is shown on a real API server in e2e."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException

from tests.kube.api_server import ApiServer, Asked, Reply, serving
from tradewind.errors import ApiError
from tradewind.kube import writes as api_writes
from tradewind.kube.client import MERGE_PATCH
from tradewind.kube.writes import ApiWrites

_PATH = "/api/v1/namespaces/shop/pods/web"
_PATCH = {"metadata": {"uid": "u"}, "spec": {"schedulingGates": None}}


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited between tries, instead of waiting."""
    seconds: list[float] = []

    async def note(wait: float) -> None:
        seconds.append(wait)

    monkeypatch.setattr(api_writes, "_wait", note)
    return seconds


def run(
    server: ApiServer,
    work: Callable[[ApiWrites], Awaitable[None]],
    configuration: Configuration | None = None,
    **options: object,
) -> None:
    async def go() -> None:
        async with serving(server):
            known = configuration or Configuration()
            known.host = server.url
            async with ApiWrites(ApiClient(known), **options) as writes:  # type: ignore[arg-type]
                await work(writes)

    asyncio.run(go())


async def patch(writes: ApiWrites) -> None:
    await writes.patch(_PATH, _PATCH)


def test_a_patch_is_sent_as_it_is() -> None:
    server = ApiServer()
    run(server, patch)
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("PATCH", _PATH, _PATCH)
    assert asked.headers["Content-Type"] == MERGE_PATCH
    assert "PartialObjectMetadata" in asked.headers["Accept"]
    assert asked.headers["User-Agent"] == "tradewind"


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422])
def test_a_refusal_is_final(status: int) -> None:
    server = ApiServer(Reply(status, "no"))
    with pytest.raises(ApiError, match=f"^the API server answers {status}: no$") as raised:
        run(server, patch)
    assert raised.value.status == status
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [0, 429, 500, 502, 503, 504])
def test_what_may_be_over_soon_is_tried_again(status: int) -> None:
    server = ApiServer(Reply(status), Reply(status))
    run(server, patch)
    assert len(server.asked) == 3


def test_the_api_server_says_how_long_to_wait(waits: list[float]) -> None:
    server = ApiServer(
        Reply(429, headers={"Retry-After": "3"}),
        Reply(503, headers={"Retry-After": "soon"}),
        Reply(429, headers={"Retry-After": "3600"}),
    )
    run(server, patch)
    assert waits[0] == 3
    assert 0.1 <= waits[1] <= 0.2  # nothing that can be read: the second delay of our own
    assert waits[2] == 10  # the most


def test_tries_are_bounded_and_spaced(waits: list[float]) -> None:
    server = ApiServer(*[Reply(503, "down")] * 100)
    with pytest.raises(ApiError, match="answers 503: down"):
        run(server, patch)
    assert len(server.asked) == 6
    full = [0.1, 0.2, 0.4, 0.8, 1.6]
    assert all(whole / 2 <= wait <= whole for wait, whole in zip(waits, full, strict=True))


def test_no_server_at_all_is_an_error_without_a_status() -> None:
    async def go() -> None:
        async with ApiWrites(ApiClient(Configuration(host="http://127.0.0.1:1"))) as writes:
            await patch(writes)

    with pytest.raises(ApiError, match=r"127\.0\.0\.1") as raised:
        asyncio.run(go())
    assert raised.value.status == 0


def test_no_more_at_once_than_asked_for() -> None:
    server = ApiServer()
    gate = asyncio.Event()

    async def answer(asked: Asked) -> Reply:
        del asked
        if server.at_once == 3:
            gate.set()
        await gate.wait()  # only when three have come together
        return Reply()

    server.answer = answer  # type: ignore[method-assign]

    async def many(writes: ApiWrites) -> None:
        await asyncio.gather(*(patch(writes) for _ in range(20)))

    run(server, many, concurrency=3)
    assert len(server.asked) == 20
    assert server.at_once == 3


def test_who_may_no_longer_write_does_not_try_again() -> None:
    server = ApiServer(*[Reply(503)] * 100)
    with pytest.raises(ApiError, match="no longer permitted to write"):
        run(server, patch, permitted=lambda: len(server.asked) < 2)
    assert len(server.asked) == 2


class Tokens:
    """Credentials that are renewed on each look, as the official client's hooks do it."""

    def __init__(self) -> None:
        self.number = 0

    def configuration(self) -> Configuration:
        configuration = Configuration()
        configuration.api_key["BearerToken"] = "Bearer none"
        configuration.refresh_api_key_hook = self.renew
        return configuration

    def renew(self, configuration: Configuration) -> None:
        self.number += 1
        configuration.api_key["BearerToken"] = f"Bearer token-{self.number}"


def test_a_token_is_used_for_ten_seconds_and_then_renewed() -> None:
    server, tokens = ApiServer(), Tokens()

    async def thrice(writes: ApiWrites) -> None:
        await patch(writes)
        await patch(writes)
        writes._credentials_until -= 10
        await patch(writes)

    run(server, thrice, tokens.configuration())
    assert [asked.headers["Authorization"] for asked in server.asked] == [
        "Bearer token-1",
        "Bearer token-1",
        "Bearer token-2",
    ]


def test_a_token_that_is_refused_is_renewed_at_once() -> None:
    server, tokens = ApiServer(Reply(401)), Tokens()
    run(server, patch, tokens.configuration())
    assert [asked.headers["Authorization"] for asked in server.asked] == ["Bearer token-1", "Bearer token-2"]


def test_credentials_that_cannot_be_renewed_are_an_error() -> None:
    def fail(configuration: Configuration) -> None:
        del configuration
        raise ConfigException("the token file is empty")

    configuration = Tokens().configuration()
    configuration.refresh_api_key_hook = fail
    server = ApiServer()
    with pytest.raises(ApiError, match="the credentials cannot be renewed: the token file is empty"):
        run(server, patch, configuration)
    assert server.asked == []


def test_where_a_proxy_is_set_it_is_asked() -> None:
    """It is sent the whole address, and all else is the same."""
    proxy = ApiServer(Reply(503), Reply(429, headers={"Retry-After": "1"}))

    async def go() -> None:
        async with serving(proxy):
            configuration = Tokens().configuration()
            configuration.host, configuration.proxy = "http://api.invalid", proxy.url
            async with ApiWrites(ApiClient(configuration)) as writes:
                await patch(writes)

    asyncio.run(go())
    assert len(proxy.asked) == 3
    asked = proxy.asked[-1]
    assert (asked.method, asked.path, asked.body) == ("PATCH", _PATH, _PATCH)
    assert asked.headers["Host"] == "api.invalid"
    assert asked.headers["Content-Type"] == MERGE_PATCH
    assert asked.headers["User-Agent"] == "tradewind"
