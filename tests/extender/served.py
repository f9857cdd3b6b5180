"""Tradewind as kube-scheduler sees it, without a socket."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from extender.app import App, add_verbs
from extender.metrics import ExtenderMetrics
from extender.verbs import Verbs
from extender.waker import Waker
from scoring.policy import Policy
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.config.document import DEFAULT
from tradewind.explain.decisions import Decisions
from tradewind.runtime.probes import add_probes

MAX_BODY_BYTES = 100_000


@dataclass
class Watch:
    name: str = "nodes"
    age_seconds: float = 1.5
    events: int = 7
    relists: int = 1
    errors: int = 2
    unreadable: int = 3
    trouble: str = "the API server answers 403"


@dataclass
class Cluster:
    cache: Cache = field(default_factory=lambda: Cache(offer_of))
    synced: bool = True
    stale: str = ""
    name: str = "a test cluster"
    ahead: float = 0.0  # seconds, of our clock

    watches: tuple[Watch, ...] = (Watch(),)

    def now(self) -> float:
        return time.time() + self.ahead


@dataclass
class Service:
    cluster: Cluster
    metrics: ExtenderMetrics
    client: TestClient
    waker: Waker

    def filter(self, wanted: PodBuilder, names: list[str]) -> dict[str, Any]:
        answer: dict[str, Any] = self.post("/filter", wanted, names).json()
        return answer

    def post(self, path: str, wanted: PodBuilder, names: list[str]) -> httpx2.Response:
        return self.client.post(path, content=request(wanted, names))

    def scores(self, wanted: PodBuilder, names: list[str]) -> dict[str, int]:
        answer = self.post("/prioritize", wanted, names).json()
        return {entry["Host"]: entry["Score"] for entry in answer}

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"tradewind_{name}", labels) or 0


def request(wanted: PodBuilder, names: list[str]) -> bytes:
    return json.dumps({"Pod": wanted.document, "Nodes": None, "NodeNames": names}).encode()


def service(
    *nodes: NodeBuilder,
    synced: bool = True,
    policy_of: Callable[[Pod], Policy] = lambda _: DEFAULT.policies().default,
    decisions: Decisions | None = None,
    shadow: Callable[[], bool] = lambda: False,
    recheck: bool = True,
) -> Service:
    """Checks requests itself, as with a cluster from a file, unless told that kube-scheduler has done so."""
    cluster, metrics = Cluster(synced=synced), ExtenderMetrics()
    for each in nodes:
        cluster.cache.apply_node(each.build())
    app = App()
    verbs = Verbs(cluster, policy_of, metrics, decisions=decisions, shadow=shadow, recheck=lambda: recheck)
    add_verbs(app, verbs, MAX_BODY_BYTES)
    add_probes(app, cluster, metrics.registry)
    return Service(cluster, metrics, TestClient(app), verbs.filter.waker)


THREE = (node("small").cpu("1").price(0.01), node("cheap").price(0.1), node("dear").price(0.5))
NAMES = ["small", "cheap", "dear"]
WANTED = pod("web").requests(cpu="2", memory="2Gi")
