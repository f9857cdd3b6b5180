"""Requests that never end: what they hold is bounded, and they are given up in time."""

from contextlib import ExitStack

import pytest

from tests.extender.served import request
from tests.extender.sockets import BODY, LIMIT, WANTED, Client, Service, post, serving

# Not a plain request, so that it goes uvicorn's way.
_SLOW_WAY = "X-Odd: 1"
_LARGE = request(WANTED, ["cheap"]).ljust(LIMIT * 3 // 4)


@pytest.fixture(params=[(), (_SLOW_WAY,)], ids=["direct", "by uvicorn"])
def headers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


def _unfinished(service: Service, opened: ExitStack, headers: tuple[str, ...]) -> Client:
    client = opened.enter_context(service.client())
    client.send(post("/filter", _LARGE, *headers)[:-1])
    client.wait_until_read()
    return client


def test_a_body_that_is_too_slow_is_given_up(
    headers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("app", "direct"):
        monkeypatch.setattr(f"extender.{module}.READ_SECONDS", 0.2)
    with serving() as service, ExitStack() as opened:
        reply = _unfinished(service, opened, headers).read()
        assert reply is None or reply.status == 408
        prompt = opened.enter_context(service.client())
        prompt.send(post("/filter", BODY))
        assert prompt.read()
        assert service.app.uploads.take(2 * LIMIT)  # all of it was given back


def test_many_unfinished_bodies_hold_no_more_than_two_of_the_largest(headers: tuple[str, ...]) -> None:
    with serving() as service, ExitStack() as opened:
        first, second = (_unfinished(service, opened, headers) for _ in range(2))
        reply = _unfinished(service, opened, headers).read()
        assert reply is None or reply.status == 503
        first.send(b" ")
        answered = first.read()
        assert answered is not None
        assert answered.status == 200
        again = _unfinished(service, opened, headers)
        for client in (second, again):
            client.send(b" ")
            assert client.read()


def test_a_client_that_goes_gives_back_what_it_held(headers: tuple[str, ...]) -> None:
    with serving() as service:
        for _ in range(5):
            with ExitStack() as opened:
                _unfinished(service, opened, headers)
        with service.client() as client:
            client.send(post("/filter", _LARGE, *headers))
            assert client.read()
