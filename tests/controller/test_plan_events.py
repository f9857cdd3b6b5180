"""One Event for each pod and reason, however often it is said; few at a time."""

import asyncio
from collections.abc import Awaitable, Callable

from kubernetes.client import ApiClient, Configuration
from prometheus_client import generate_latest

from tests.builders import pod
from tests.kube.api_server import ApiServer, Reply, serving
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.plan_events import PlanEvents
from tradewind.kube.writes import ApiWrites

_WEB = pod("web").namespace("shop").uid("u-web").build()
_EVENTS = "/api/v1/namespaces/shop/events"


def run(
    server: ApiServer, work: Callable[[PlanEvents], Awaitable[None]], metrics: PlanMetrics | None = None
) -> None:
    async def go() -> None:
        async with serving(server), ApiWrites(ApiClient(Configuration(host=server.url))) as writes:
            await work(PlanEvents(writes, metrics or PlanMetrics()))

    asyncio.run(go())


def test_an_event_names_its_pod_and_the_reason() -> None:
    server = ApiServer()
    run(server, lambda events: events.unplaced([(_WEB, "no node has 64 cores")]))
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", _EVENTS)
    event = asked.body
    assert event["involvedObject"]["uid"] == "u-web"
    assert (event["type"], event["reason"], event["message"]) == (
        "Warning",
        "Unplaced",
        "No place: no node has 64 cores",
    )


def test_the_same_is_said_once_and_another_text_changes_the_event() -> None:
    server = ApiServer(Reply(201), Reply(409, "already exists"), Reply(200))

    async def work(events: PlanEvents) -> None:
        for reason in ("cpu", "cpu", "memory", "memory"):
            await events.unplaced([(_WEB, reason)])

    run(server, work)
    first, again, changed = server.asked
    assert [each.method for each in server.asked] == ["POST", "POST", "PATCH"]
    assert changed.path == f"{_EVENTS}/{first.body['metadata']['name']}"
    assert first.body["metadata"]["name"] == again.body["metadata"]["name"]
    assert changed.body["message"] == "No place: memory"
    assert changed.body.keys() == {"message", "lastTimestamp"}


def test_each_reason_is_an_event_of_its_own() -> None:
    server = ApiServer()

    async def work(events: PlanEvents) -> None:
        await events.unplaced([(_WEB, "cpu")])
        await events.planned_on_pool([(_WEB, "large")])
        await events.ungated([_WEB], 30.0)

    run(server, work)
    said = {each.body["metadata"]["name"]: each.body["reason"] for each in server.asked}
    assert sorted(said.values()) == ["PlannedOnPool", "Ungated", "Unplaced"]


def test_a_name_is_never_too_long() -> None:
    server = ApiServer()
    long = pod("x" * 235 + "." + "y" * 17).uid("u").build()
    run(server, lambda events: events.ungated([long], 30.0))
    name = server.asked[0].body["metadata"]["name"]
    assert len(name) <= 253
    assert ".." not in name


def test_a_flood_is_told_in_parts_and_beside_the_plans() -> None:
    server = ApiServer()
    many = [(pod(f"p{number}").uid(f"u-{number}").build(), "cpu") for number in range(450)]

    async def work(events: PlanEvents) -> None:
        for told in (200, 400, 450, 450):
            await events.unplaced(many)
            assert len(server.asked) == told

    run(server, work)
    assert server.at_once <= 2


def test_an_event_that_cannot_be_written_is_counted() -> None:
    metrics = PlanMetrics()
    run(ApiServer(Reply(403, "forbidden")), lambda events: events.unplaced([(_WEB, "cpu")]), metrics)
    assert (
        'plan_writes_total{kind="event",outcome="failed"} 1.0' in generate_latest(metrics.registry).decode()
    )
