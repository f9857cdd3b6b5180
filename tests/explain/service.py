"""A Tradewind that is asked as kube-scheduler asks, and then why."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi.testclient import TestClient

from extender.app import App, add_explain, add_verbs
from extender.metrics import ExtenderMetrics
from extender.verbs import Verbs
from scoring.policy import Policy
from tests.builders import NodeBuilder, PodBuilder, node, offer_of, pod
from tradewind.cluster.cache import Cache
from tradewind.cluster.files import load
from tradewind.config.document import DEFAULT
from tradewind.explain.decisions import Decisions
from tradewind.explain.explanation import Explanation
from tradewind.runtime.source import EXAMPLES

REQUEST = json.loads((EXAMPLES / "request.json").read_bytes())
CHECKOUT = PodBuilder(REQUEST["Pod"])
CHEAP = node("cheap").price(0.1)
DEAR = node("dear").price(0.4)
WANTED = pod("cart-7").namespace("shop").requests(cpu="2", memory="2Gi")


@dataclass
class Cluster:
    cache: Cache = field(default_factory=lambda: Cache(offer_of))
    synced: bool = True
    stale: str = ""

    watches: tuple[()] = ()
    now: Callable[[], float] = time.time


@dataclass
class Service:
    """A Tradewind, and as much of kube-scheduler as asks it."""

    cluster: Cluster = field(default_factory=Cluster)
    decisions: Decisions = field(default_factory=lambda: Decisions(100, 3600))
    policy: Policy = field(default_factory=lambda: DEFAULT.policies().default)

    def __post_init__(self) -> None:
        app = App()
        add_verbs(
            app,
            Verbs(
                self.cluster,
                lambda _: self.policy,
                ExtenderMetrics(),
                decisions=self.decisions,
                recheck=lambda: True,
            ),
            2**20,
        )
        add_explain(app, self.decisions, self.cluster.cache)
        self.client = TestClient(app)

    def schedule(self, wanted: PodBuilder, names: list[str] | None = None) -> list[str]:
        """Filter, and prioritize what passes if that is more than one node."""
        asked = names or list(self.cluster.cache.snapshot().nodes.names)
        passed: list[str] = self.ask("/filter", wanted, asked)["NodeNames"]
        if len(passed) > 1:
            self.ask("/prioritize", wanted, passed)
        return passed

    def explain(self, wanted: PodBuilder) -> Explanation:
        answer = self.client.get(f"/explain/{wanted.build()}")
        assert answer.status_code == 200, answer.text
        return Explanation.model_validate_json(answer.content)

    def story(self, wanted: PodBuilder) -> str:
        return "\n".join(self.explain(wanted).sentences)

    def ask(self, path: str, wanted: PodBuilder, names: list[str]) -> Any:
        body = json.dumps({"Pod": wanted.document, "NodeNames": names})
        return self.client.post(path, content=body).json()


def serving(*nodes: NodeBuilder) -> Service:
    service = Service()
    for each in nodes:
        service.cluster.cache.apply_node(each.build())
    return service


def serving_example() -> Service:
    service = Service()
    load(EXAMPLES / "cluster.json", service.cluster.cache)
    return service
