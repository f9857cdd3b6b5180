"""What goes wrong between us and an API server, fault by fault, over real connections."""

import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubernetes.client import ApiClient, Configuration

from tests.builders import node, offer_of, pod, requested
from tests.cluster.conftest import (
    IMPATIENT,
    QUIET,
    Start,
    eventually,
    troubles,
    wait_for_nodes,
    wait_for_pods,
    watch_of,
)
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
from tradewind.cluster.objects import Node, node_of, read_node
from tradewind.cluster.reflector import Reflector, cluster_resources
from tradewind.cluster.snapshot import Offer
from tradewind.cluster.wire import NodeObject
from tradewind.errors import ApiError
from tradewind.kube.streams import Streams
from tradewind.kube.watch import Pace, Resource, Watch


def lists(api: ScriptedApi, resource: str) -> int:
    return len([request for request in api.requests(resource) if not request.is_watch])


def test_a_watch_that_falls_silent_goes_on_where_it_was(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", lists=[page(version=5)], watches=[watch(bookmark(8), Do.HOLD)])
    reflector = start(IMPATIENT)
    assert api.wait_for_watch("nodes", 2).query["resourceVersion"] == "8"
    assert lists(api, "nodes") == 1
    assert watch_of(reflector, "nodes").errors == 1


def test_a_silent_list_is_asked_for_again(api: ScriptedApi, cache: Cache, start: Start) -> None:
    api.script("nodes", lists=[nothing_but(Do.HOLD), watch(b"{", Do.HOLD), page(node("a"))])
    reflector = start(IMPATIENT)
    assert list(cache.snapshot().nodes.names) == ["a"]
    assert watch_of(reflector, "nodes").errors == 2


def test_after_many_watches_without_a_word_the_version_is_not_trusted(
    api: ScriptedApi, cache: Cache, start: Start
) -> None:
    lists = [page(node("a"), version=99), page(node("b"), version=3)]
    api.script("nodes", lists=lists, watches=[watch()] * 10)
    start()
    assert api.wait_for_watch("nodes", 10).query["resourceVersion"] == "99"
    assert api.wait_for_watch("nodes", 11).query["resourceVersion"] == "3"
    assert list(cache.snapshot().nodes.names) == ["b"]


def test_a_word_now_and_then_is_enough(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", lists=[page(version=99)], watches=([watch()] * 9 + [watch(bookmark(99))]) * 2)
    start()
    assert api.wait_for_watch("nodes", 20).query["resourceVersion"] == "99"
    assert len([request for request in api.requests("nodes") if not request.is_watch]) == 1


def test_a_connection_reset_in_the_middle_of_a_line(api: ScriptedApi, cache: Cache, start: Start) -> None:
    second = event("ADDED", pod("y").version(7))
    broken = watch(event("ADDED", pod("x").version(6)), second[:40], Do.RESET)
    api.script("pods", lists=[page(version=5)], watches=[broken, watch(second, Do.HOLD)])
    reflector = start()
    assert api.wait_for_watch("pods", 2).query["resourceVersion"] == "6"
    wait_for_pods(cache, "default/x", "default/y")
    assert lists(api, "pods") == 1
    assert watch_of(reflector, "pods").errors == 1


def test_a_line_that_an_end_cut_off_is_not_taken(api: ScriptedApi, cache: Cache, start: Start) -> None:
    whole = event("ADDED", pod("x").version(6))
    api.script("pods", watches=[watch(bookmark(5), whole[:-1]), watch(whole, Do.HOLD)])
    start()
    assert api.wait_for_watch("pods", 2).query["resourceVersion"] == "5"
    wait_for_pods(cache, "default/x")


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"<html>bad gateway</html>\n", id="a page of a proxy"),
        pytest.param(b"{}\n", id="an event without a type"),
        pytest.param(b"\n", id="an empty line"),
        pytest.param(b'{"type":"ADDED","object":' + b"[" * 100_000 + b"\n", id="nested too deep"),
    ],
)
def test_a_garbage_line_leads_to_a_new_list(
    api: ScriptedApi, cache: Cache, start: Start, garbage: bytes
) -> None:
    broken = watch(event("ADDED", pod("x").version(6)), garbage, event("ADDED", pod("unseen")))
    api.script("pods", lists=[page(version=5), page(pod("y"), version=9)], watches=[broken])
    reflector = start()
    assert api.wait_for_watch("pods", 2).query["resourceVersion"] == "9"
    wait_for_pods(cache, "default/y")
    assert watch_of(reflector, "pods").errors == 1
    assert watch_of(reflector, "pods").relists == 1


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(Answer([b"<html>welcome</html>"]), id="a page"),
        pytest.param(Answer([b'{"items":[]}']), id="a list without a version"),
        pytest.param(Answer([b'{"metadata":', Do.RESET]), id="half a list"),
        pytest.param(Answer([b"<html>bad gateway</html>"], 502), id="a refusal that is no status"),
        pytest.param(refusal(429, "too many requests"), id="too many requests"),
        pytest.param(nothing_but(Do.RESET), id="a reset before the first word"),
    ],
)
def test_a_list_that_cannot_be_read_is_asked_for_again(
    api: ScriptedApi, cache: Cache, start: Start, garbage: Answer
) -> None:
    api.script("nodes", lists=[garbage, garbage, page(node("a"))])
    reflector = start()
    assert list(cache.snapshot().nodes.names) == ["a"]
    assert watch_of(reflector, "nodes").errors == 2
    assert watch_of(reflector, "nodes").relists == 0


def test_an_error_event_that_is_not_about_the_version(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", watches=[watch(bookmark(8), error_event(500))])
    reflector = start()
    assert api.wait_for_watch("nodes", 2).query["resourceVersion"] == "8"
    assert watch_of(reflector, "nodes").errors == 1
    assert lists(api, "nodes") == 1


def test_a_watch_that_ends_as_soon_as_it_begins_is_a_failure(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", watches=[watch(), watch()])
    reflector = start()
    api.wait_for_watch("nodes", 3)
    assert watch_of(reflector, "nodes").errors == 2


def test_an_unreadable_object_in_a_list_keeps_its_version_of_before(
    api: ScriptedApi, cache: Cache, start: Start
) -> None:
    odd = pod("x").requests(cpu="4Gb").on("a").json()
    nameless = b'{"metadata":{}}'
    relisted = page_of([odd, b"7", nameless, pod("new").json()], version=9)
    first = page(pod("x").requests(cpu=2).on("a"), pod("old"), version=5)
    api.script("nodes", lists=[page(node("a"))])
    api.script("pods", lists=[first, relisted], watches=[refusal(410)])
    reflector = start()
    api.wait_for_watch("pods", 2)
    wait_for_pods(cache, "default/x", "default/new")
    assert requested(cache.snapshot().nodes)[0].tolist() == [2000]
    assert watch_of(reflector, "pods").unreadable == 3


def test_an_unreadable_object_in_a_watch_stops_nothing(api: ScriptedApi, cache: Cache, start: Start) -> None:
    odd = pod("x").requests(cpu="4Gb").on("a").version(7)
    nameless = b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"8"}}}\n'
    changes = [event("MODIFIED", odd), nameless, event("ADDED", pod("y").version(8))]
    api.script("nodes", lists=[page(node("a"))])
    api.script("pods", lists=[page(pod("x").requests(cpu=2).on("a"))], watches=[watch(*changes)])
    reflector = start()
    assert api.wait_for_watch("pods", 2).query["resourceVersion"] == "8"
    wait_for_pods(cache, "default/x", "default/y")
    assert requested(cache.snapshot().nodes)[0].tolist() == [2000]
    assert watch_of(reflector, "pods").unreadable == 2
    assert watch_of(reflector, "pods").errors == 0


def test_what_is_deleted_goes_even_if_it_is_unreadable(api: ScriptedApi, cache: Cache, start: Start) -> None:
    gone = event("DELETED", node("a").cpu("4Gb"))
    api.script("nodes", lists=[page(node("a"), node("b"))], watches=[watch(gone, Do.HOLD)])
    reflector = start()
    wait_for_nodes(cache, "b")
    assert watch_of(reflector, "nodes").unreadable == 0


def test_a_failure_of_our_own_does_not_end_the_thread(api: ScriptedApi) -> None:
    errors = iter([ZeroDivisionError()])

    def once_broken(listed: Node) -> Offer:
        for error in errors:
            raise error
        return offer_of(listed)

    cache = Cache(once_broken)
    api.script("nodes", lists=[page(), page(node("a"))], watches=[watch(event("ADDED", node("a")))])
    reflector = Reflector(ApiClient(Configuration(host=api.url)), cluster_resources(cache), QUIET)
    reflector.start()
    wait_for_nodes(cache, "a")
    reflector.stop()
    assert watch_of(reflector, "nodes").errors == 1


def test_what_is_wrong_is_told_until_it_is_over(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", lists=[refusal(403, "nodes is forbidden"), nothing_but(Do.HOLD)])
    reflector = start(synced=False)
    api.wait_for(lambda: lists(api, "nodes") == 2)
    assert troubles(reflector)["nodes"] == "the API server answers 403: nodes is forbidden"
    assert not reflector.synced


def test_trouble_is_over_when_the_server_answers(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", lists=[refusal(503), page()])
    reflector = start()
    api.wait_for_watch("nodes", 1)
    assert "nodes" not in troubles(reflector)
    assert watch_of(reflector, "nodes").errors == 1


def test_trouble_is_over_when_a_watch_is_accepted(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", watches=[refusal(503)])
    reflector = start()
    api.wait_for_watch("nodes", 2)
    eventually(lambda: not troubles(reflector))  # the watch itself stays silent
    assert watch_of(reflector, "nodes").errors == 1


def test_a_server_that_is_not_there_yet(cache: Cache) -> None:
    absent = ScriptedApi()
    absent.close()
    reflector = Reflector(ApiClient(Configuration(host=absent.url)), cluster_resources(cache), QUIET)
    reflector.start()
    try:
        assert not wait_synced(reflector, 0.2)
        present = ScriptedApi(port=absent.port)
        try:
            assert wait_synced(reflector, PATIENCE_SECONDS)
        finally:
            present.close()
    finally:
        reflector.stop()
    assert watch_of(reflector, "nodes").errors > 0


def test_a_version_that_is_gone_after_an_outage_is_listed_anew_soon(api: ScriptedApi) -> None:
    pauses = Pauses(6)
    watches = [watch(bookmark(2))] + [refusal(503)] * 4 + [watch(error_event(410)), refusal(410)]
    api.script("nodes", watches=watches)
    watch_nodes(api, pauses)
    assert pauses.seconds[3] >= 2
    assert pauses.seconds[4] <= 0.5
    assert pauses.seconds[5] >= 0.5  # but not if lists do not help


def test_a_version_that_was_gone_long_ago_has_no_say_in_the_next_pause(api: ScriptedApi) -> None:
    pauses = Pauses(5)
    watches = [refusal(410), watch(bookmark(2))] + [refusal(503)] * 3 + [refusal(410)]
    api.script("nodes", watches=watches)
    watch_nodes(api, pauses)
    assert pauses.seconds[3] >= 1
    assert pauses.seconds[4] <= 0.5


class Pauses(threading.Event):
    """Does not wait, but notes how long it should; set after so many times."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0)
        if len(self.seconds) == self._most:
            self.set()
        return self.is_set()


def watch_nodes(api: ScriptedApi, pauses: Pauses) -> None:
    """List and watch nodes in this thread until `pauses` is set."""
    cache = Cache(offer_of)
    nodes = Resource(
        name="nodes",
        key=lambda identity: identity.name,
        read=read_node,
        kind=NodeObject,
        make=node_of,
        apply=cache.apply_node,
        remove=cache.remove_node,
        retain=cache.retain_nodes,
        batch=cache.batch,
    )
    streams = Streams(ApiClient(Configuration(host=api.url)))
    Watch(nodes, streams, Pace(), pauses).run()
    streams.close()


def test_pauses_double_up_to_a_limit_and_vary(api: ScriptedApi) -> None:
    pauses = Pauses(60)
    api.script("nodes", lists=[refusal(500)] * 60)
    watch_nodes(api, pauses)
    full = [min(30.0, 0.5 * 2**number) for number in range(60)]
    assert all(whole / 2 <= pause <= whole for pause, whole in zip(pauses.seconds, full, strict=True))
    assert len(set(pauses.seconds)) > 50
    assert min(pauses.seconds[10:]) < 20
    assert max(pauses.seconds[10:]) > 25


def test_pauses_are_short_again_after_a_watch_that_worked(api: ScriptedApi) -> None:
    pauses = Pauses(4)
    api.script("nodes", lists=[refusal(500)] * 3 + [page()], watches=[watch(bookmark(2)), refusal(500)])
    watch_nodes(api, pauses)
    assert pauses.seconds[2] >= 1
    assert pauses.seconds[3] <= 0.5


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("blocked_in", ["a list", "a watch"])
def test_stopping_ends_threads_that_wait_for_the_server(
    tmp_path: Path, cache: Cache, *, encrypted: bool, blocked_in: str
) -> None:
    context, configuration = tls(tmp_path) if encrypted else (None, Configuration())
    server = ScriptedApi(context)
    configuration.host = server.url
    if blocked_in == "a list":
        for resource in server.scripts:
            server.script(resource, lists=[nothing_but(Do.HOLD)])
    reflector = Reflector(ApiClient(configuration), cluster_resources(cache), QUIET)
    reflector.start()
    for resource in server.scripts:
        if blocked_in == "a watch":
            server.wait_for_watch(resource, 1)
        else:
            server.wait_for(lambda resource=resource: bool(server.requests(resource)))  # type: ignore[misc]
    reflector.stop()
    assert not any(thread.is_alive() for thread in reflector._threads)
    assert not any(watch.errors for watch in reflector.watches)
    server.close()


def test_nothing_is_read_after_the_end(api: ScriptedApi) -> None:
    streams = Streams(ApiClient(Configuration(host=api.url)))
    streams.page("nodes", {}, PATIENCE_SECONDS)
    streams.close()
    with pytest.raises(ApiError):
        streams.page("nodes", {}, PATIENCE_SECONDS)


def test_stopping_ends_a_pause(api: ScriptedApi, start: Start) -> None:
    api.script("nodes", lists=[refusal(500)])
    long = Pace(first_delay_seconds=10 * PATIENCE_SECONDS, max_delay_seconds=10 * PATIENCE_SECONDS)
    start(long, synced=False)
    api.wait_for_watch("pods", 1)  # the fixture stops it


def tls(directory: Path) -> tuple[ssl.SSLContext, Configuration]:
    """A server's certificate for 127.0.0.1, and a client that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(alternative, critical=False)
        .sign(key, hashes.SHA256())
    )
    file = directory / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    configuration = Configuration()
    configuration.ssl_ca_cert = str(file)
    return context, configuration
