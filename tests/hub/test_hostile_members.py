"""One member must not own the hub: what it writes counts for itself, is bounded, and is not of the future."""

import asyncio
import json
import time
from typing import Any

import msgspec
import pytest

from tests.builders import node
from tests.fleet.cases import nodes, request, site, summary_of
from tests.hub.fake_hub import SITES, FakeHub, FakeScheduler
from tradewind.fleet.explanation import explain
from tradewind.fleet.ledger import Ledger, Promise
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.fleet.summary import MAX_RESOURCES, Summary, SummaryError, encode, read_summary
from tradewind.hub.placement_scores import PlacementScores
from tradewind.hub.records import SiteNote, note_of
from tradewind.hub.wire import ConfigMapObject


def _note(name: str, annotated: str, summary: Summary, what: str = "summary") -> SiteNote:
    document = {
        "metadata": {
            "name": name,
            "namespace": SITES,
            "labels": {"tradewind.dev/fleet": what},
            "annotations": {"tradewind.dev/site": annotated},
        },
        "data": {"summary": encode(summary)},
    }
    return note_of(msgspec.json.decode(json.dumps(document), type=ConfigMapObject))


@pytest.mark.parametrize(
    ("name", "annotated", "site", "good"),
    [
        ("site-b", "b", "b", True),
        ("site-a", "b", "b", False),
        ("site-b", "a", "b", False),
        ("site-b", "b", "a", False),
        ("site-../secrets", "../secrets", "../secrets", False),
        ("site-", "", "", False),
        ("site-" + "b" * 64, "b" * 64, "b" * 64, False),
    ],
)
def test_the_three_names_of_a_summary_agree(name: str, annotated: str, site: str, good: bool) -> None:
    note = _note(name, annotated, summary_of(site, nodes(1)))
    assert (note.summary is not None, not note.trouble) == (good, good)


def test_a_forged_summary_moves_nothing_to_another_site() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    for name, price in (("a", 0.1), ("b", 5.0)):
        scheduler.add_site(summary_of(name, nodes(2, price), time=time.time()))
    scheduler.state.summaries.apply(_note("site-b", "a", summary_of("a", nodes(2, 0.001), time=time.time())))
    hub.add_binding("web", 2)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {"a": 2}


def test_a_summary_from_the_future_is_refused_and_said_so() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(summary_of("a", nodes(2), time=time.time() + 10**9))
    hub.add_binding("web", 1)
    scheduler.look()
    asyncio.run(scheduler.settle())
    assert hub.clusters("web") == {}
    told = explain(request(), scheduler.state.sites, SitePolicy(), time.time())
    assert "s in the future)" in told.rejected[0].examples[0]


def test_a_promise_of_the_future_closes_no_site() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    scheduler.add_site(summary_of("a", nodes(1), time=time.time()))
    forever = Ledger((Promise("x", 4, {"cpu": 1000}, time=time.time() + 10**9),))
    scheduler.state.ledgers.apply(SiteNote("ledger-a", "tradewind-system", "1", "a", ledger=forever))
    assert scheduler.state.ledger("a", time.time()) == Ledger()


def test_a_ledger_where_members_write_counts_for_nothing() -> None:
    hub = FakeHub()
    scheduler = FakeScheduler(hub)
    stolen = Ledger((Promise("x", 4, {"cpu": 1000}, time=time.time()),))
    scheduler.state.ledgers.apply(SiteNote("ledger-a", SITES, "1", "a", ledger=stolen))
    assert scheduler.state.ledger("a", time.time()) == Ledger()


def _with_resources(count: int) -> Summary:
    names = tuple(f"example.com/r{number:04}" for number in range(count))
    summary = summary_of("a", [node("n")])
    width = len(summary.resources)
    return msgspec.structs.replace(
        summary,
        resources=(*summary.resources, *names),
        free=(*summary.free, *([1] * count)),
        allocatable=(*summary.allocatable, *([1] * count)),
        kinds=tuple(
            msgspec.structs.replace(kind, allocatable=(*kind.allocatable[:width], *([1] * count)))
            for kind in summary.kinds
        ),
        rows=tuple(
            msgspec.structs.replace(row, free=(*row.free[:width], *([1] * count))) for row in summary.rows
        ),
    )


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (_with_resources(8000), "more than"),
        (_with_resources(20), "resources, more than 16"),
        (
            msgspec.structs.replace(
                summary_of("a", nodes(1)), waiting={f"Deployment shop/w{n}": 1 for n in range(51)}
            ),
            "workloads that wait, more than 50",
        ),
    ],
)
def test_a_summary_over_its_limits_is_refused(broken: Summary, says: str) -> None:
    with pytest.raises(SummaryError, match=says):
        read_summary(encode(broken), "a")


def test_a_member_leaves_out_what_is_over_the_limits_and_says_so() -> None:
    rich = node("n").cpu("8")
    for number in range(40):
        rich = rich.resource(f"example.com/r{number:02}", "1")
    summary = summary_of("a", [rich, node("m").resource("example.com/common", "1")])
    assert len(summary.resources) == MAX_RESOURCES
    assert {"cpu", "memory", "pods"} <= set(summary.resources)
    assert summary.dropped["resources"] > 0
    assert read_summary(encode(summary), "a") == summary


def test_new_labels_and_resources_each_time_fill_no_memory() -> None:
    sites = Sites([site("good", node("g").resource("example.com/gpu", "1"))])
    for number in range(3000):
        labelled = node("n").label("topology.kubernetes.io/zone", f"z{number}")
        sites.apply(site("bad", labelled.resource(f"example.com/r{number}", "1")))
    assert len(sites.kinds) < 2500
    assert len(sites.resources) <= 64
    assert "example.com/gpu" in sites.resources
    assert "example.com/r2999" in sites.resources


def test_scores_are_written_under_no_name_that_is_a_path() -> None:
    paths = []

    class Hub:
        def get(self, _: str) -> bytes:
            summary = summary_of("../../secrets", nodes(1), time=time.time())
            body = {
                "metadata": {
                    "name": "site-../../secrets",
                    "labels": {"tradewind.dev/fleet": "summary"},
                    "annotations": {"tradewind.dev/site": "../../secrets"},
                },
                "data": {"summary": encode(summary)},
            }
            return json.dumps({"items": [body]}).encode()

        def patch(self, path: str, _: object) -> None:
            paths.append(path)

    hub: Any = Hub()
    publisher = PlacementScores(hub, SITES)
    settings = FleetSettings.model_validate({"classes": {"web": {"requests": {"cpu": "1"}}}})
    publisher.publish_ocm(publisher.scores(settings, time.time()), time.time() + 60)
    assert paths == []
