"""What each way for a request to fail becomes: one table for every module that calls the API server."""

import asyncio
from collections.abc import Callable

import pytest
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException

from tests.kube.api_server import ApiServer, Reply, serving
from tradewind.errors import ApiError, ConflictError, GoneError, NotFoundError
from tradewind.kube.client import MERGE_PATCH, Client

_PATH = "/api/v1/namespaces/shop/pods/web"
_BODY = {"metadata": {"uid": "u"}}


def ask(
    server: ApiServer, work: Callable[[Client], bytes], configuration: Configuration | None = None
) -> bytes:
    known = configuration or Configuration()

    async def go() -> bytes:
        async with serving(server):
            known.host = server.url
            client = Client(ApiClient(known))
            try:
                return await asyncio.to_thread(work, client)
            finally:
                client.close()

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("work", "method", "content_type"),
    [
        (lambda client: client.get(_PATH), "GET", None),
        (lambda client: client.create(_PATH, _BODY), "POST", "application/json"),
        (lambda client: client.replace(_PATH, _BODY), "PUT", "application/json"),
        (lambda client: client.patch(_PATH, _BODY), "PATCH", MERGE_PATCH),
    ],
)
def test_a_request_is_sent_as_it_is(
    work: Callable[[Client], bytes], method: str, content_type: str | None
) -> None:
    server = ApiServer(Reply(body={"kind": "Pod"}))
    configuration = Configuration()
    configuration.api_key["BearerToken"] = "Bearer secret\n"
    assert ask(server, work, configuration) == b'{"kind":"Pod"}'
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == (method, _PATH, _BODY if content_type else None)
    assert asked.headers.get("Content-Type") == content_type
    assert asked.headers["Authorization"] == "Bearer secret"
    assert asked.headers["User-Agent"] == "tradewind"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, ApiError),
        (400, ApiError),
        (403, ApiError),
        (404, NotFoundError),
        (409, ConflictError),
        (410, GoneError),
        (429, ApiError),
        (500, ApiError),
        (503, ApiError),
    ],
)
def test_a_refusal_has_its_status_and_its_message_and_is_not_repeated(
    status: int, kind: type[ApiError]
) -> None:
    server = ApiServer(Reply(status, "because"))
    with pytest.raises(ApiError) as raised:
        ask(server, lambda client: client.get(_PATH))
    assert type(raised.value) is kind
    assert raised.value.status == status
    assert str(raised.value) == f"the API server answers {status}: because"
    assert len(server.asked) == 1


def test_a_refusal_by_somebody_else_is_told_by_its_reason() -> None:
    with pytest.raises(ApiError, match="answers 502: Bad Gateway"):
        ask(ApiServer(Reply(502, body=["a proxy"])), lambda client: client.get(_PATH))


def test_a_connection_that_breaks_is_an_error_without_a_status() -> None:
    server = ApiServer(Reply(0))
    with pytest.raises(ApiError, match="the connection to the API server failed") as raised:
        ask(server, lambda client: client.get(_PATH))
    assert raised.value.status == 0
    assert len(server.asked) == 1


def test_no_server_at_all_is_an_error_without_a_status() -> None:
    with pytest.raises(ApiError, match="the connection to the API server failed") as raised:
        Client(ApiClient(Configuration(host="http://127.0.0.1:1"))).get(_PATH)
    assert raised.value.status == 0


def test_silence_ends_after_its_time() -> None:
    async def never(asked: object) -> Reply:
        del asked
        await asyncio.sleep(5)
        return Reply()

    server = ApiServer()
    server.answer = never  # type: ignore[method-assign]
    with pytest.raises(ApiError, match="has fallen silent"):
        ask(server, lambda client: client.get(_PATH, 0.1))


def test_credentials_that_cannot_be_renewed_are_an_error() -> None:
    def fail(configuration: Configuration) -> None:
        del configuration
        raise ConfigException("the token file is empty")

    configuration = Configuration()
    configuration.api_key["BearerToken"] = "Bearer old"
    configuration.refresh_api_key_hook = fail
    with pytest.raises(ApiError, match="the credentials cannot be renewed: the token file is empty"):
        ask(ApiServer(), lambda client: client.get(_PATH), configuration)
