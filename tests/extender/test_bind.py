"""Binding against an API server that is a real HTTP server with one pod at a time in mind."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from kubernetes.client import ApiClient, Configuration

from extender.bind import Binder
from extender.metrics import ExtenderMetrics
from extender.protocol import BindRequest
from extender.verbs import Verbs
from tests.builders import PodBuilder, node, offer_of, pod, requested
from tradewind.cluster.cache import Cache
from tradewind.config import document as config
from tradewind.kube.client import Client

# Each requests 1Gi with a limit of 2Gi: the limits of eight add up to the 16Gi of the node.
_HUNGRY = [pod(f"hungry-{i}").requests(memory="1Gi").limits(memory="2Gi") for i in range(12)]
_LIMITED = """
apiVersion: tradewind.dev/v1alpha1
kind: TradewindConfiguration
rules: {limits: {overcommit: {memory: 1}}}
"""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bound: dict[str, str] = {}
        self.pods: dict[str, PodBuilder] = {}
        self.fail = 0  # how many bindings are answered with an error
        self.lose = 0  # how many are carried out and then answered with an error
        self.answering = threading.Event()  # not set: bindings wait for their answers
        self.answering.set()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.answering.wait(60)
        name, target = body["metadata"]["name"], body["target"]["name"]
        if self.server.fail:
            self.server.fail -= 1
            self._answer(500, {"message": "no"})
        elif name in self.server.bound:
            self._answer(409, {"message": "pod is already assigned"})
        else:
            self.server.bound[name] = target
            lost = self.server.lose > 0
            self.server.lose -= lost
            self._answer(500 if lost else 201, {})

    def do_GET(self) -> None:
        built = self.server.pods.get(self.path.rsplit("/", 1)[1])
        if built is None:
            self._answer(404, {"message": "not found"})
            return
        name = built.document["metadata"]["name"]
        self._answer(200, built.on(self.server.bound.get(name, "")).document)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, document: object) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Bench:
    """A binder, its cache, and the API server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.cache = Cache(offer_of)
        self.cache.apply_node(node("n").build())
        self.cache.apply_node(node("other").build())
        configuration = Configuration(host=f"http://127.0.0.1:{server.server_port}")
        configuration.retries = False
        self.api = ApiClient(configuration)
        self.metrics = ExtenderMetrics()
        self.state = Cluster(self.cache)
        self.binder = Binder(self.cache, Client(self.api), config.parse(_LIMITED).policies().of, self.metrics)

    def know(self, *pods: PodBuilder) -> None:
        for each in pods:
            self.server.pods[each.document["metadata"]["name"]] = each
            self.cache.apply_pod(each.build())

    def bind(self, *pods: PodBuilder, to: str = "n") -> list[str]:
        async def together() -> list[str]:
            return await asyncio.gather(*(self.binder.bind(request(each, to)) for each in pods))

        return asyncio.run(together())

    def post(self, built: PodBuilder, to: str = "n") -> str:
        """The error that kube-scheduler reads; none where it is empty."""
        verb = Verbs(self.state, config.DEFAULT.policies().of, self.metrics, self.binder).bind
        assert verb is not None
        metadata = built.document["metadata"]
        body = {
            "PodName": metadata["name"],
            "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"],
            "Node": to,
        }
        answer = asyncio.run(verb(json.dumps(body).encode()))
        assert answer.status == 200
        error: str = json.loads(answer.body)["Error"]
        return error

    def requests(self, outcome: str) -> float:
        labels = {"verb": "bind", "outcome": outcome}
        return self.metrics.registry.get_sample_value("tradewind_requests_total", labels) or 0

    def requested(self, name: str = "n") -> int:
        """Pods that count on the node for the next one."""
        seen = self.cache.assumed.overlay(self.cache.snapshot(), pod("next").build())
        return int(requested(seen.nodes)[seen.nodes.resource_rows["pods"], seen.row_of[name]])

    def count(self, outcome: str) -> float:
        return self.metrics.registry.get_sample_value("tradewind_bindings_total", {"outcome": outcome}) or 0


@dataclass
class Cluster:
    cache: Cache
    synced: bool = True
    stale: str = ""
    now: Callable[[], float] = time.time


def request(built: PodBuilder, to: str) -> BindRequest:
    metadata = built.document["metadata"]
    return BindRequest(metadata["namespace"], metadata["name"], metadata["uid"], to)


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        built = Bench(server)
        yield built
        built.api.close()
        server.shutdown()
        thread.join()


def test_what_would_overcommit_is_refused_even_when_all_come_at_once(bench: Bench) -> None:
    bench.know(*_HUNGRY)
    errors = bench.bind(*_HUNGRY)
    assert len(bench.server.bound) == 8
    assert sum(bool(error) for error in errors) == 4
    assert bench.requested() == 8
    assert bench.count("refused") == 4
    refused = next(each for each, error in zip(_HUNGRY, errors, strict=True) if error)
    assert bench.binder.refused(refused.build().uid) == {"n"}
    bench.binder.forget_refusals(refused.build().uid)
    assert bench.binder.refused(refused.build().uid) == set()


def test_again_for_the_same_node_is_no_error_and_for_another_is(bench: Bench) -> None:
    bench.know(_HUNGRY[0])
    assert bench.bind(_HUNGRY[0]) == [""]
    assert bench.bind(_HUNGRY[0]) == [""]
    assert bench.requested() == 1
    assert bench.bind(_HUNGRY[0], to="other")[0]
    assert bench.requested() == 1
    assert bench.requested("other") == 0


def test_a_binding_that_fails_gives_the_place_back(bench: Bench) -> None:
    bench.know(_HUNGRY[0])
    bench.server.fail = 1
    assert "failed" in bench.bind(_HUNGRY[0])[0]
    assert bench.requested() == 0
    assert bench.bind(_HUNGRY[0]) == [""]


def test_a_lost_answer_is_found_out_to_be_a_success(bench: Bench) -> None:
    bench.know(_HUNGRY[0])
    bench.server.lose = 1
    assert bench.bind(_HUNGRY[0]) == [""]
    assert bench.requested() == 1


def test_a_pod_that_our_watch_has_not_shown_yet_is_fetched_and_counted(bench: Bench) -> None:
    bench.server.pods["hungry-0"] = _HUNGRY[0]
    assert bench.bind(_HUNGRY[0]) == [""]
    assert bench.requested() == 1


def test_a_pod_that_is_gone_is_an_error(bench: Bench) -> None:
    bench.server.fail = 1
    assert bench.bind(_HUNGRY[0])[0]


def test_old_news_of_the_watch_do_not_undo_a_binding(bench: Bench) -> None:
    bench.know(_HUNGRY[0])
    bench.bind(_HUNGRY[0])
    bench.cache.apply_pod(_HUNGRY[0].label("late", "news").build())
    assert bench.requested() == 1
    bench.cache.apply_pod(_HUNGRY[0].on("n").build())
    assert bench.requested() == 1
    bench.cache.remove_pod(_HUNGRY[0].build().uid)
    assert bench.requested() == 0


def test_an_unreadable_pod_is_bound_without_our_check(bench: Bench) -> None:
    """A pod that we cannot read is none that our rules can object to."""
    bench.server.pods["odd"] = pod("odd").requests(cpu="4Gb")
    assert bench.post(pod("odd")) == ""
    assert bench.server.bound == {"odd": "n"}
    assert bench.requests("ok") == 1


def test_whatever_goes_wrong_is_an_error_that_kube_scheduler_reads(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("one by none")

    monkeypatch.setattr(bench.cache.assumed, "assume", broken)
    bench.know(_HUNGRY[0])
    assert "one by none" in bench.post(_HUNGRY[0])
    assert bench.requests("failed") == 1
    assert not bench.server.bound


def test_stale_state_is_not_asked_for_objections(bench: Bench) -> None:
    bench.know(*_HUNGRY)
    bench.state.stale = "the watch of pods has been silent for 75 s"
    large = pod("large").requests(cpu="99")
    bench.know(large)
    assert bench.post(large) == ""
    assert bench.requests("stale") == 1
    bench.state.stale = ""
    larger = pod("larger").requests(cpu="99")
    bench.know(larger)
    assert "refuses node n" in bench.post(larger)
    assert bench.requests("ok") == 1


def test_a_pod_that_is_bound_elsewhere_counts_there(bench: Bench) -> None:
    """Another scheduler was first, and our watch has not brought that yet."""
    bench.know(_HUNGRY[0])
    bench.server.bound["hungry-0"] = "other"
    assert "failed" in bench.bind(_HUNGRY[0])[0]
    assert (bench.requested("n"), bench.requested("other")) == (0, 1)


def test_a_pod_that_is_deleted_while_it_is_bound_leaves_no_trace(bench: Bench) -> None:
    """The watch has brought the deletion by the time that the API server says what became of the binding."""
    bench.know(_HUNGRY[0])
    bench.server.bound["hungry-0"] = "other"
    bench.cache.remove_pod(_HUNGRY[0].build().uid)
    bench.bind(_HUNGRY[0])
    bench.cache.remove_pod(_HUNGRY[0].build().uid)
    assert bench.cache.all_pods() == []
    assert (bench.requested("n"), bench.requested("other")) == (0, 0)


@pytest.mark.parametrize("successor", [False, True], ids=["deleted", "replaced by another of that name"])
def test_a_pod_that_is_deleted_between_a_conflict_and_our_look_leaves_no_trace(
    bench: Bench, *, successor: bool
) -> None:
    """Our watch has not brought the deletion yet."""
    bench.know(_HUNGRY[0])
    bench.server.bound["hungry-0"] = "other"
    if successor:
        bench.server.pods["hungry-0"] = _HUNGRY[0].uid("successor")
    else:
        del bench.server.pods["hungry-0"]
    assert "failed" in bench.bind(_HUNGRY[0])[0]
    assert (bench.requested("n"), bench.requested("other")) == (0, 0)


def test_slow_bindings_keep_no_other_verb_waiting(bench: Bench) -> None:
    bench.know(*_HUNGRY)
    verbs = Verbs(bench.state, config.DEFAULT.policies().of, bench.metrics, bench.binder)
    body = json.dumps({"Pod": pod("web").document, "Nodes": None, "NodeNames": ["new"]}).encode()

    async def ask_while_binding() -> bool:
        bench.server.answering.clear()
        binding = asyncio.gather(*(bench.binder.bind(request(each, "n")) for each in _HUNGRY))
        await asyncio.sleep(0.05)
        await verbs.filter(body)
        await asyncio.to_thread(lambda: None)  # the threads that files and prices are followed in are free
        waiting = not binding.done()
        bench.server.answering.set()
        await binding
        return waiting

    assert asyncio.run(ask_while_binding())


def test_bindings_that_cannot_begin_in_time_never_do(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """kube-scheduler has given up, and places the pod anew."""
    monkeypatch.setattr("extender.bind._ANSWER_SECONDS", 0.5)
    pods = [pod(f"plain-{number}").requests(cpu="1m") for number in range(40)]
    bench.know(*pods)
    bench.server.answering.clear()
    errors = bench.bind(*pods)
    assert all("no answer within 0.5 s" in error for error in errors)
    started = bench.requested()
    bench.server.answering.set()
    bench.binder._threads.shutdown()
    assert 0 < len(bench.server.bound) == started < len(pods)
