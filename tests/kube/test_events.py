"""Events beside our own pod; those about planned pods are in tests/controller/test_plan_events.py."""

import asyncio
import logging

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.kube.api_server import ApiServer, Reply, serving
from tradewind.kube.events import warn
from tradewind.kube.objects import PodReference

_OWN = PodReference("shop", "tradewind-0", "u-0")


def warned(server: ApiServer, *texts: str) -> list[dict[str, object]]:
    """From a thread without an event loop, as the settings are read."""

    async def go() -> None:
        async with serving(server):
            for text in texts:
                await asyncio.to_thread(
                    warn, ApiClient(Configuration(host=server.url)), _OWN, "Refused", text
                )

    asyncio.run(go())
    assert {(asked.method, asked.path) for asked in server.asked} == {
        ("POST", "/api/v1/namespaces/shop/events")
    }
    return [asked.body for asked in server.asked]


def test_a_warning_names_our_pod_so_that_kubectl_finds_it() -> None:
    (event,) = warned(ApiServer(), "x" * 2000)
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "shop",
        "name": "tradewind-0",
        "uid": "u-0",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "Refused", "x" * 1024)


def test_the_same_text_is_the_same_event_and_another_text_is_another() -> None:
    first, again, other = warned(ApiServer(Reply(201), Reply(409), Reply(201)), "a", "a", "b")
    assert first["metadata"] == again["metadata"] != other["metadata"]


def test_a_warning_that_cannot_be_written_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warned(ApiServer(Reply(403, "forbidden")), "a")
    assert [record.getMessage() for record in caplog.records] == [
        "event Refused could not be written: the API server answers 403: forbidden"
    ]
