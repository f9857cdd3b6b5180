"""The life of the planner: whatever part of it fails or hangs, that shows, and no pod stays held."""

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, NoReturn, Self

import aiohttp
import pytest
from kubernetes.client import ApiClient, Configuration

from tests.builders import node, pod
from tests.kube.api_server import ApiServer, Asked, Reply, serving
from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.cluster.karpenter import Provisioning
from tradewind.cluster.objects import Pod
from tradewind.config.document import Document
from tradewind.controller.orders import Order, Orders
from tradewind.controller.release import LEASE
from tradewind.controller.service import PlannerOptions, PlannerService
from tradewind.planner import gate, plan_annotation
from tradewind.planner.plan_annotation import ANNOTATION
from tradewind.runtime import identity
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.heartbeats import Heartbeats
from tradewind.runtime.server import Server

_SECONDS = 60.0
# A standing solve would have a process of its own.
_CONFIGURATION = Document.model_validate(
    {
        "apiVersion": "tradewind.dev/v1alpha1",
        "kind": "TradewindConfiguration",
        "planner": {"standing": {"enabled": False}},
    }
)


class Source:
    """A live cluster that is known already: a node, and a pod that was held for too long."""

    name = "a cluster"
    synced = True
    watches: tuple[()] = ()
    provisioning = Provisioning()

    def __init__(self, api: "LeaseServer") -> None:
        self.api = ApiClient(Configuration(host=api.url))
        self._created = api.now - timedelta(hours=1)

    def attach(self, cache: Cache, stale_seconds: int) -> None:
        del stale_seconds
        created = self._created.strftime("%Y-%m-%dT%H:%M:%SZ")
        cache.apply_node(node("a").cpu(2).build())
        held = pod("held").requests(cpu=1).field("metadata", "creationTimestamp", value=created)
        cache.apply_pod(held.field("spec", "schedulingGates", value=[{"name": gate.GATE}]).build())

    def now(self) -> float:
        return time.time()

    def refresh(self) -> None:
        pass

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass


class LeaseServer(ApiServer):
    """Keeps one Lease, as the API server does, and takes every other write."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        """Its clock is so far ahead of ours."""
        super().__init__()
        self.lease: dict[str, Any] = {}
        self._ahead = ahead

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    @property
    def holder(self) -> str | None:
        found: str | None = self.lease.get("spec", {}).get("holderIdentity")
        return found

    @property
    def ungated(self) -> bool:
        return any("schedulingGates" in str(asked.body) for asked in self.asked if asked.method == "PATCH")

    def patched(self) -> list[str]:
        """Names of pods, in order."""
        return [
            asked.path.split("/pods/")[1].split("/")[0]
            for asked in self.asked
            if asked.method == "PATCH" and "/pods/" in asked.path
        ]

    async def answer(self, asked: Asked) -> Reply:
        return (await self._answer(asked))._replace(headers={"Date": format_datetime(self.now, usegmt=True)})

    async def _answer(self, asked: Asked) -> Reply:
        if not asked.path.endswith((f"/leases/{LEASE}", "/leases")):
            return Reply(404) if asked.method == "GET" else Reply()
        if asked.method == "GET":
            return Reply(body=self.lease) if self.lease else Reply(404)
        version = self.lease.get("metadata", {}).get("resourceVersion")
        if asked.body["metadata"].get("resourceVersion") != version:
            return Reply(409)
        metadata = {"name": LEASE, "resourceVersion": str(len(self.asked))}
        self.lease = {"metadata": metadata, "spec": asked.body["spec"]}
        return Reply(body=self.lease)


class Planner:
    """In this event loop, with a clock of its own for the heartbeats."""

    def __init__(self, api: LeaseServer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(identity, "identity", lambda: name)
        self.now = 0.0
        self.parts = Assembly(Source(api), _CONFIGURATION)
        self.parts.heartbeats = Heartbeats(lambda: self.now)
        self.service = PlannerService(PlannerOptions("127.0.0.1", 0, lease_seconds=1.5), self.parts)

    @property
    def leading(self) -> bool:
        return self.service._leader.leading

    async def health(self) -> int:
        async with aiohttp.ClientSession() as session, session.get(f"{self._server.url}/healthz") as answer:
            return answer.status

    async def __aenter__(self) -> Self:
        self._server = Server(self.service._probes(), "127.0.0.1", 0)
        self.task = asyncio.create_task(self.service._run(self._server))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await asyncio.gather(self.task, return_exceptions=True)
        await asyncio.to_thread(self.service._leader.stop)
        await asyncio.to_thread(self.service._worker.close)
        self._server.socket.close()


@pytest.fixture(params=[0, 2, -2], ids="the API server's clock is {} h ahead".format)
def skewed(request: pytest.FixtureRequest) -> LeaseServer:
    return LeaseServer(timedelta(hours=request.param))


@pytest.fixture
def api() -> LeaseServer:
    return LeaseServer()


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SECONDS):
        while not seen():  # noqa: ASYNC110  of other threads
            await asyncio.sleep(0.02)


async def turns(planner: Planner, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for as many turns of planning to end, well or badly."""
    turn = planner.service._turn
    ended: list[object] = []

    async def counted(*arguments: Any) -> WorkCounter:
        try:
            return await turn(*arguments)
        finally:
            ended.append(arguments)

    monkeypatch.setattr(planner.service, "_turn", counted)
    await until(lambda: len(ended) >= count)


async def fail_async(*_: object, **__: object) -> NoReturn:
    raise ZeroDivisionError("a bug")


def fail(*_: object, **__: object) -> NoReturn:
    raise ZeroDivisionError("a bug")


def test_the_age_of_a_hold_and_the_end_of_a_plan_are_by_the_clock_of_the_api_server(
    skewed: LeaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with serving(skewed), Planner(skewed, "a", monkeypatch) as planner:
            await until(lambda: skewed.ungated)
            assert planner.service._planning.late().overdue
            plans = [
                plan_annotation.read(pod("held").annotation(ANNOTATION, text).build())
                for asked in skewed.asked
                if asked.method == "PATCH"
                and (text := (asked.body["metadata"].get("annotations") or {}).get(ANNOTATION))
            ]
            assert plans
            assert all(plan and plan.fresh(skewed.now.timestamp(), limit=60 + 2) for plan in plans)

    asyncio.run(go())


@pytest.mark.parametrize("part", ["collect", "decide", "none"])
def test_a_turn_that_fails_holds_nobody_for_longer_and_the_next_is_tried(
    api: LeaseServer, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with serving(api), Planner(api, "a", monkeypatch) as planner:
            if part == "collect":
                monkeypatch.setattr(planner.service, "_collect", fail_async)
            if part == "decide":
                monkeypatch.setattr(planner.service._planning, "decide", fail)
            await until(lambda: api.ungated)
            assert planner.leading
            assert await planner.health() == 200
            assert not planner.task.done()
            planner.now += 10_000
            if part == "none":
                await until(lambda: not planner.parts.heartbeats.missed())
                await until(lambda: planner.leading)
                assert await planner.health() == 200
            else:  # nothing was planned for as long as that
                await until(lambda: not planner.leading)
                await turns(planner, 3, monkeypatch)
                await until(lambda: planner.parts.heartbeats.missed().startswith("loop planning: "))
                assert (planner.leading, await planner.health()) == (False, 503)

    asyncio.run(go())


def test_a_loop_that_hangs_costs_the_lease(api: LeaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hangs, go_on = threading.Event(), threading.Event()

    def hang(**_: object) -> Orders:
        hangs.set()
        go_on.wait(_SECONDS)
        return Orders()

    async def go() -> None:
        async with serving(api), Planner(api, "first", monkeypatch) as first:
            monkeypatch.setattr(first.service._planning, "decide", hang)
            await until(hangs.is_set)
            async with Planner(api, "second", monkeypatch) as second:
                assert api.holder == "first"
                assert await first.health() == 200
                first.now += 10_000
                await until(lambda: second.leading)
                assert not first.leading
                assert (await first.health(), await second.health()) == (503, 200)
                await until(lambda: api.ungated)
                go_on.set()

    asyncio.run(go())


def held(name: str) -> Pod:
    return pod(name).field("spec", "schedulingGates", value=[{"name": gate.GATE}]).build()


def test_pods_that_are_ungated_without_a_plan_wait_for_no_wave(
    api: LeaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_annotation.PlanAnnotation("a", api.now.timestamp() + 60)
    waves = [[Order(held("anchor"), plan)], [Order(held("follower"), plan)]]
    orders = [Orders(waves=waves, ungate=[held("lost")])]

    async def go() -> None:
        async with serving(api), Planner(api, "a", monkeypatch) as planner:
            planner.service._planning.promises.make(order for wave in waves for order in wave)
            planner.parts.cache.apply_pod(held("anchor"))  # and never bound
            decide = functools.partial(_next_of, orders)
            monkeypatch.setattr(planner.service._planning, "decide", decide)
            await until(lambda: "follower" in api.patched())

    asyncio.run(go())
    patched = api.patched()
    assert patched.index("lost") < patched.index("follower")


def _next_of(orders: list[Orders], **_: object) -> Orders:
    return orders.pop() if orders else Orders()


def test_pods_that_no_plan_can_place_are_ungated_while_others_are_planned(
    api: LeaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def decide(*, release: Callable[[Orders], None], news: bool) -> Orders:
        del news
        release(Orders(ungate=[held("lost")]))
        go_on.wait(_SECONDS)
        return Orders()

    async def go() -> None:
        async with serving(api), Planner(api, "a", monkeypatch) as planner:
            monkeypatch.setattr(planner.service._planning, "decide", decide)
            try:
                await until(lambda: "lost" in api.patched())
            finally:
                go_on.set()

    asyncio.run(go())


def test_every_loop_has_a_heartbeat(api: LeaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    loops: list[object] = []

    async def go() -> None:
        async with serving(api):
            planner = Planner(api, "a", monkeypatch)
            background = planner.service._background

            def counted(*arguments: Any) -> Iterator[Coroutine[None, None, None]]:
                for loop in background(*arguments):
                    loops.append(loop)
                    yield loop

            monkeypatch.setattr(planner.service, "_background", counted)
            monkeypatch.setattr(planner.parts.heartbeats, "beat", lambda loop, _within: beats.add(loop))
            async with planner:
                await until(lambda: bool(loops) and len(beats) >= len(loops) - 1)

    beats: set[str] = set()
    asyncio.run(go())
    assert len(beats) == len(loops) - 1  # the first ends once it is a candidate for the Lease


@pytest.mark.parametrize("loop", ["_plan", "_move", "_stand", "_keep_company", "_take_back"])
def test_a_loop_that_dies_takes_the_process_down(
    api: LeaseServer, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with serving(api):
            planner = Planner(api, "a", monkeypatch)
            monkeypatch.setattr(planner.service, loop, fail_async)
            async with planner, asyncio.timeout(_SECONDS):
                await planner.task

    with pytest.raises(ZeroDivisionError):
        asyncio.run(go())
