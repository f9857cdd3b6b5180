"""List and watch against a server that plays a script, over real connections."""

import logging
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any

import pytest
from kubernetes.client import ApiClient, Configuration

from tests.builders import namespace, node, offer_of, pod, requested
from tests.cluster.conftest import QUIET, Start, troubles, wait_for_pods, watch_of
from tests.cluster.scripted import (
    PATIENCE_SECONDS,
    Answer,
    Do,
    ScriptedApi,
    bookmark,
    error_event,
    event,
    nothing_but,
    page,
    page_of,
    refusal,
    watch,
)
from tests.synced import wait_synced
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node
from tradewind.cluster.reflector import Reflector, cluster_resources, finished_pods


def test_everything_is_listed_and_then_watched(api: ScriptedApi, cache: Cache, start: Start) -> None:
    api.script("nodes", lists=[page(node("a"), node("b"), version=11)])
    api.script("pods", lists=[page(pod("x").on("a"), version=12)])
    api.script("namespaces", lists=[page(namespace("default"), version=13)])
    reflector = start()
    assert cache.counts() == {"nodes": 2, "pods": 1, "namespaces": 1}
    assert requested(cache.snapshot().nodes)[3].tolist() == [1, 0]
    for resource, version in {"nodes": "11", "pods": "12", "namespaces": "13"}.items():
        query = api.wait_for_watch(resource, 1).query
        assert query["resourceVersion"] == version
        assert query["allowWatchBookmarks"] in {"true", "True"}
        assert 20 <= int(query["timeoutSeconds"]) <= 40
    assert reflector.synced
    assert {watch.name for watch in reflector.watches} == {"nodes", "pods", "namespaces"}
    assert all(watch.age_seconds >= 0 for watch in reflector.watches)
    assert not troubles(reflector)


def test_the_clock_is_the_servers(monkeypatch: pytest.MonkeyPatch, start: Start) -> None:
    """A day after our own."""
    day = 86_400.0
    monkeypatch.setattr(
        BaseHTTPRequestHandler, "date_time_string", lambda _: formatdate(time.time() + day, usegmt=True)
    )
    before = time.time()
    now = start().clock.now()
    assert before + day - 2 <= now <= time.time() + day + 2


def test_only_pods_that_have_not_ended_are_asked_for(api: ScriptedApi, start: Start) -> None:
    start()
    api.wait_for_watch("pods", 1)
    for request in api.requests("pods"):
        assert request.query["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"
    api.wait_for_watch("nodes", 1)
    assert all("fieldSelector" not in request.query for request in api.requests("nodes"))


def test_it_is_synced_only_when_all_three_lists_are_complete(api: ScriptedApi, start: Start) -> None:
    api.script("namespaces", lists=[refusal(500)] * 3 + [page_of([], token="more"), nothing_but(Do.HOLD)])
    reflector = start(synced=False)
    api.wait_for_watch("nodes", 1)
    api.wait_for_watch("pods", 1)
    api.wait_for(lambda: len(api.requests("namespaces")) == 5)
    assert not reflector.synced
    assert not wait_synced(reflector, 0)


def test_pages_are_followed_to_the_last(api: ScriptedApi, cache: Cache, start: Start) -> None:
    pages = [page(node("a"), version=7, token="t1"), page(node("b"), version=7, token="t2")]
    api.script("nodes", lists=[*pages, page(node("c"), version=7)])
    start()
    assert set(cache.snapshot().nodes.names) == {"a", "b", "c"}
    assert api.wait_for_watch("nodes", 1).query["resourceVersion"] == "7"
    queries = [request.query for request in api.requests("nodes")][:3]
    assert [query.get("continue") for query in queries] == [None, "t1", "t2"]
    assert [query["limit"] for query in queries] == ["500"] * 3


def test_changes_are_applied(api: ScriptedApi, cache: Cache, start: Start) -> None:
    api.script("nodes", lists=[page(node("a"))])
    changes = [
        event("ADDED", pod("x").requests(cpu=1).on("a")),
        event("ADDED", pod("y").requests(cpu=2).on("a")),
        event("MODIFIED", pod("y").requests(cpu=3).on("a")),
        event("DELETED", pod("x").requests(cpu=1).on("a")),
        event("ADDED", pod("last")),
    ]
    api.script("pods", watches=[watch(*changes, Do.HOLD)])
    reflector = start()
    wait_for_pods(cache, "default/y", "default/last")
    assert requested(cache.snapshot().nodes)[0].tolist() == [3000]
    assert watch_of(reflector, "pods").events == 5


def test_several_lines_in_a_chunk_and_lines_over_several_chunks(
    api: ScriptedApi, cache: Cache, start: Start
) -> None:
    large = pod("large").label("note", "n" * 2**20).label("app", "größe")
    stream = event("ADDED", pod("x")) + event("ADDED", large) + event("ADDED", pod("y"))
    for size in (7_919, 2**18, 2**22):
        chunks = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
        api.script("pods", watches=[watch(*chunks), watch(event("DELETED", pod("y")))])
    reflector = start()
    api.wait_for_watch("pods", 7)
    wait_for_pods(cache, "default/x", "default/large")
    assert cache._pods["default/large"].labels["note"] == "n" * 2**20
    assert watch_of(reflector, "pods").events == 3 * 4
    assert watch_of(reflector, "pods").errors == 0


def test_a_watch_that_the_server_ends_goes_on_where_it_was(api: ScriptedApi, start: Start) -> None:
    ended = watch(event("ADDED", node("a").version(21)), event("MODIFIED", node("a").version(22)))
    api.script("nodes", lists=[page(version=20)], watches=[ended, watch(bookmark(30))])
    reflector = start()
    assert api.wait_for_watch("nodes", 2).query["resourceVersion"] == "22"
    assert api.wait_for_watch("nodes", 3).query["resourceVersion"] == "30"
    assert watch_of(reflector, "nodes").errors == 0
    assert watch_of(reflector, "nodes").relists == 0


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(refusal(410, "too old resource version"), id="as a status"),
        pytest.param(watch(error_event(410)), id="as an event"),
        pytest.param(watch(event("ADDED", node("new")), error_event(410)), id="as a later event"),
    ],
)
def test_a_version_that_is_gone_is_listed_anew(
    api: ScriptedApi, cache: Cache, start: Start, gone: Answer
) -> None:
    lists = [page(node("a"), node("b"), version=5), page(node("b"), node("c"), version=90)]
    api.script("nodes", lists=lists, watches=[gone])
    reflector = start()
    assert api.wait_for_watch("nodes", 2).query["resourceVersion"] == "90"
    assert set(cache.snapshot().nodes.names) == {"b", "c"}
    assert watch_of(reflector, "nodes").relists == 1
    assert watch_of(reflector, "nodes").errors == 0


def test_a_list_that_expires_begins_anew_with_larger_pages(
    api: ScriptedApi, cache: Cache, start: Start
) -> None:
    api.script("nodes", lists=[page(node("half"), token="t1"), refusal(410), page(node("a"))])
    start()
    assert list(cache.snapshot().nodes.names) == ["a"]
    queries = [request.query for request in api.requests("nodes") if not request.is_watch]
    assert [(query["limit"], query.get("continue")) for query in queries] == [
        ("500", None),
        ("500", "t1"),
        ("1000", None),
    ]


def test_a_relist_that_is_under_way_is_not_seen(api: ScriptedApi, cache: Cache, start: Start) -> None:
    lists = [page(node("a")), page(node("b"), token="t1"), nothing_but(Do.HOLD)]
    api.script("nodes", lists=lists, watches=[refusal(410)])
    start()
    api.wait_for(lambda: any("continue" in request.query for request in api.requests("nodes")))
    assert list(cache.snapshot().nodes.names) == ["a"]


def test_a_relist_is_seen_all_at_once(api: ScriptedApi) -> None:
    seen: list[tuple[str, ...]] = []

    class Observed(Cache):
        def apply_node(self, node: Node) -> None:
            super().apply_node(node)
            seen.append(tuple(self.snapshot().nodes.names))

    cache = Observed(offer_of)
    lists = [page(node("a"), node("b")), page(node("b").cpu(9), node("c"))]
    api.script("nodes", lists=lists, watches=[refusal(410)])
    reflector = Reflector(ApiClient(Configuration(host=api.url)), cluster_resources(cache), QUIET)
    reflector.start()
    api.wait_for_watch("nodes", 2)
    reflector.stop()
    assert seen == [(), (), ("a", "b"), ("a", "b")]
    assert set(cache.snapshot().nodes.names) == {"b", "c"}


def test_tokens_are_renewed_for_each_request(api: ScriptedApi, cache: Cache) -> None:
    configuration = Configuration(host=api.url, api_key={"authorization": "Bearer 0"})
    renewed = iter(range(1, 1000))

    def renew(configuration: Configuration) -> None:
        configuration.api_key["authorization"] = f"Bearer {next(renewed)}"

    configuration.refresh_api_key_hook = renew
    api.script("nodes", watches=[watch(bookmark(2)), watch(bookmark(3))])
    reflector = Reflector(ApiClient(configuration), cluster_resources(cache), QUIET)
    reflector.start()
    try:
        api.wait_for_watch("nodes", 3)
    finally:
        reflector.stop()
    tokens = [request.token for request in api.requests("nodes")]
    assert len(set(tokens)) == 4
    assert "Bearer 0" not in tokens


def test_the_log_says_what_goes_wrong_and_where(
    api: ScriptedApi, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    odd = pod("odd").namespace("shop").requests(cpu="4Gb")
    api.script("pods", lists=[refusal(403, "pods is forbidden"), page(odd)])
    with caplog.at_level(logging.INFO, "cluster"):
        start()
    assert "pods: the API server answers 403: pods is forbidden; retrying in" in caplog.text
    assert 'pods: skipped: reading quantity "4Gb" (cpu) of container "main" in pod shop/odd' in caplog.text


class _CountingLock(threading.Condition):
    """Counts the changes of objects that are made while it is held, from the outermost acquisition on."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.changes = self.most = 0

    def __enter__(self) -> bool:
        entered = super().__enter__()
        self.depth += 1
        return entered

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.depth -= 1
        if not self.depth:
            self.most, self.changes = max(self.most, self.changes), 0
        super().__exit__(kind, error, trace)


def test_no_request_waits_for_a_list(
    api: ScriptedApi, cache: Cache, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for the first one nor for another that brings and takes away many objects."""
    lock = cache._changed = _CountingLock()

    def counted(change: Callable[[Cache, Any], None]) -> Callable[[Cache, Any], None]:
        def changed(self: Cache, argument: Any) -> None:
            with lock:
                lock.changes += 1
                change(self, argument)

        return changed

    for name in ("apply_pod", "remove_pod", "apply_node", "remove_node"):
        monkeypatch.setattr(Cache, name, counted(getattr(Cache, name)))
    first = [pod(f"first-{i}").on("a") for i in range(200)]
    second = [pod(f"second-{i}").on("a") for i in range(200)]
    api.script("nodes", lists=[page(*(node(f"n{i}") for i in range(200)))])
    api.script("pods", lists=[page(*first), page(*second)], watches=[watch(error_event(410))])
    start()
    wait_for_pods(cache, *(f"default/second-{i}" for i in range(200)))
    assert lock.most == 1


def test_members_that_finished_on_a_node_tell_that_their_gang_was_placed(
    api: ScriptedApi, cache: Cache
) -> None:
    """Until the API server has none of them any more; pods of no gang are not kept."""
    member = pod("x").annotation("tradewind.dev/gang", "ring").phase("Succeeded").on("a")
    api.script("pods", lists=[page(member, pod("y").phase("Failed").on("a"), version=12)])
    reflector = Reflector(ApiClient(Configuration(host=api.url)), [finished_pods(cache)], QUIET)
    later = pod("z").annotation("tradewind.dev/gang", "ring").build()
    reflector.start()
    try:
        assert wait_synced(reflector, PATIENCE_SECONDS)
        selector = api.wait_for_watch("pods", 1).query["fieldSelector"]
        assert selector == (
            "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown,spec.nodeName!="
        )
        assert cache.snapshot().nodes.cluster.roster.has_started(later)
        assert cache.counts()["pods"] == 0
    finally:
        reflector.stop()
    cache.retain_finished([])
    assert not cache.snapshot().nodes.cluster.roster.has_started(later)
