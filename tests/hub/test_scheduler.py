"""The scheduler against an API server in memory: two at once, stale views, lost bindings."""

import asyncio
import time
from typing import Any

import msgspec

from tests.builders import pod
from tests.fleet.cases import nodes, summary_of
from tests.hub.fake_hub import FakeHub, FakeScheduler
from tradewind.fleet.ledger import overcommitted
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.summary import Summary


def _summary(name: str, count: int, price: float = 0.1) -> Summary:
    return summary_of(name, nodes(count, price), time=time.time())


def test_a_binding_is_placed_with_room_taken_and_all_that_karmada_reads() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("cheap", 1))
    scheduler.add_site(_summary("dear", 2, 0.9))
    hub.add_binding("web", 6)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {"cheap": 4, "dear": 2}
    body = hub.binding("web")
    assert (
        msgspec.json.decode(body["metadata"]["annotations"]["policy.karmada.io/applied-placement"])
        == (body["spec"]["placement"])
    )
    assert body["status"]["schedulerObservedGeneration"] == body["metadata"]["generation"] == 2
    assert body["status"]["conditions"][0]["reason"] == "Success"
    assert [(each.key, each.replicas) for each in hub.ledger("cheap").promises] == [("uid-web", 4)]


def test_what_is_settled_is_not_written_again() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("a", 1))
    hub.add_binding("web", 2)
    scheduler.look()
    asyncio.run(scheduler.settle())
    version = hub.binding("web")["metadata"]["resourceVersion"]
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.binding("web")["metadata"]["resourceVersion"] == version


def test_two_schedulers_never_promise_the_same_room() -> None:
    """Neither sees the other's ledgers before it runs into them: 12 places, 20 bindings for one each."""
    hub = FakeHub()
    summaries = [_summary("a", 1), _summary("b", 2, 0.2)]
    schedulers = [FakeScheduler(hub), FakeScheduler(hub)]
    for number in range(20):
        hub.add_binding(f"w{number}", 1, namespace="shop")
    for scheduler in schedulers:
        for summary in summaries:
            scheduler.add_site(summary)
        scheduler.look()
    # Each has half of them: two that take the same binding meet at the binding's version, below.
    for number, scheduler in enumerate(schedulers):
        for other in range(20):
            if other % 2 != number:
                scheduler.state.bindings.remove(f"shop/w{other}")

    async def both() -> None:
        await asyncio.gather(*(scheduler.settle() for scheduler in schedulers))

    asyncio.run(both())
    placed = [hub.clusters(f"w{number}") for number in range(20)]
    assert sum(bool(each) for each in placed) == 12
    assert sum(each.get("a", 0) for each in placed) == 4
    assert hub.refused > 0
    for summary in summaries:
        assert overcommitted(summary, hub.ledger(summary.site)) == 0
    reasons = [hub.binding(f"w{number}")["status"]["conditions"][0]["message"] for number in range(20)]
    assert sum("had no node that fits a replica" in reason for reason in reasons) == 8


def test_two_schedulers_that_take_the_same_binding_promise_once() -> None:
    hub = FakeHub()
    schedulers = [FakeScheduler(hub), FakeScheduler(hub)]
    hub.add_binding("web", 3)
    for scheduler in schedulers:
        scheduler.add_site(_summary("a", 2))
        scheduler.look()

    async def both() -> None:
        await asyncio.gather(*(scheduler.settle() for scheduler in schedulers))

    asyncio.run(both())
    assert hub.clusters("web") == {"a": 3}
    assert sum(each.replicas for each in hub.ledger("a").promises) == 3


def test_room_is_given_back_when_a_binding_goes() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("a", 1))
    hub.add_binding("web", 3)
    scheduler.look()
    asyncio.run(scheduler.settle())
    scheduler.look()
    asyncio.run(scheduler.settle())
    del hub.objects["/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/web"]
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.ledger("a").promises == ()


def test_replicas_that_a_member_cannot_place_go_elsewhere() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub, FleetSettings(unplaced_seconds=0.001))
    scheduler.add_site(_summary("a", 1))
    scheduler.add_site(_summary("b", 1, 0.9))
    hub.add_binding("web", 3)
    scheduler.look()
    asyncio.run(scheduler.settle())
    waiting = msgspec.structs.replace(_summary("a", 1), waiting={"Deployment shop/web": 2})
    scheduler.add_site(waiting)
    scheduler.look()
    for _ in range(2):
        scheduler.scheduler._looked = 0.0
        asyncio.run(scheduler.settle())
        time.sleep(0.01)
    assert hub.clusters("web") == {"a": 1, "b": 2}


def test_a_request_that_cannot_be_read_harms_no_other() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("a", 1))
    hub.add_binding("odd", 1, replicaRequirements={"resourceRequest": {"cpu": "much"}})
    hub.add_binding("web", 1)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert (hub.clusters("odd"), hub.clusters("web")) == ({}, {"a": 1})


def test_full_sites_are_seen_full_by_a_scheduler_that_starts_later() -> None:
    hub = FakeHub()
    first = FakeScheduler(hub)
    first.add_site(_summary("a", 1))
    hub.add_binding("web", 4)
    first.look()
    asyncio.run(first.settle())
    second = FakeScheduler(hub)
    second.add_site(summary_of("a", nodes(1), [pod("p").on("n0")], time=time.time()))
    hub.add_binding("late", 1)
    second.look()
    asyncio.run(second.settle())
    assert hub.clusters("late") == {}


def test_replicas_follow_a_price_and_leave_only_when_the_new_ones_are_ready() -> None:
    """The old site is not dropped: Karmada's graceful eviction keeps it until the new one is healthy."""
    hub = FakeHub()
    scheduler = FakeScheduler(hub, FleetSettings(move_gain=0.05, move_seconds=0.001))
    scheduler.add_site(_summary("a", 1))
    scheduler.add_site(_summary("b", 1, 0.9))
    hub.add_binding("web", 3)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {"a": 3}
    scheduler.add_site(_summary("a", 1, 0.9))
    scheduler.add_site(_summary("b", 1, 0.1))

    def rounds() -> None:
        for _ in range(3):
            scheduler.look()
            scheduler.scheduler._looked = 0.0
            asyncio.run(scheduler.settle())
            time.sleep(0.01)

    rounds()
    assert hub.clusters("web") == {"a": 3}  # not ready yet: nothing moves that is still on its way
    hub.binding("web")["status"]["aggregatedStatus"] = [{"clusterName": "a", "status": {"readyReplicas": 3}}]
    hub.touch_binding("web")
    rounds()
    assert hub.clusters("web") == {"b": 3}
    (task,) = hub.binding("web")["spec"]["gracefulEvictionTasks"]
    assert (task["fromCluster"], task["replicas"], task["producer"]) == ("a", 3, "tradewind")
    assert hub.ledger("a").promises == ()
    assert scheduler.metrics.moves._value.get() == 3


def test_without_a_threshold_nothing_moves() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("a", 1))
    hub.add_binding("web", 3)
    scheduler.look()
    asyncio.run(scheduler.settle())
    hub.binding("web")["status"]["aggregatedStatus"] = [{"clusterName": "a", "status": {"readyReplicas": 3}}]
    hub.touch_binding("web")
    scheduler.add_site(_summary("a", 1, 0.9))
    scheduler.add_site(_summary("b", 1, 0.1))
    scheduler.look()
    scheduler.scheduler._looked = 0.0
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {"a": 3}


class _BusyHub(FakeHub):
    """Somebody else writes the status first, each time, while `busy`."""

    busy = True

    async def patch(self, path: str, patch: dict[str, Any], content_type: str = "") -> bytes:
        if self.busy and path.endswith("/status"):
            self.touch_binding("web")
        return await super().patch(path, patch, content_type)


def test_a_report_that_others_came_before_is_made_later() -> None:
    hub = _BusyHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(_summary("a", 1))
    hub.add_binding("web", 3)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {"a": 3}
    assert "schedulerObservedGeneration" not in hub.binding("web")["status"]
    hub.busy = False
    scheduler.look()
    asyncio.run(scheduler.settle())
    body = hub.binding("web")
    assert body["status"]["schedulerObservedGeneration"] == body["metadata"]["generation"]
    assert sum(each.replicas for each in hub.ledger("a").promises) == 3
