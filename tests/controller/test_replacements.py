"""Who is evicted for a successor, and that nothing is evicted in vain; and evictions themselves."""

from typing import Any

import pytest

from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, offer_of, pod
from tests.planner.cases import policy_of
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.controller.evictions import Evictions
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.replacements import Replacements, due
from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client

_OLD = pod("old").requests(cpu="2").on("a")
_NEW = pod("new").requests(cpu="2").annotation(hints.REPLACES, "old")


class _Api(Client):
    def __init__(self, error: ApiError | None = None) -> None:
        self.error = error
        self.asked: list[tuple[str, Any]] = []

    def create(self, path: str, body: Any, seconds: float = 10.0) -> bytes:
        return self.patch(path, body, seconds)

    def patch(self, path: str, patch: Any, seconds: float = 10.0) -> bytes:
        del seconds
        self.asked.append((path, patch))
        if self.error is not None:
            raise self.error
        return b""


@pytest.mark.parametrize(
    ("nodes", "pods", "evicted"),
    [
        pytest.param([node("a").cpu("2")], [_OLD, _NEW], ["old"], id="in its place"),
        pytest.param([node("a").cpu("2")], [_OLD, _NEW.requests(cpu="3")], [], id="has no room there"),
        pytest.param(
            [node("a").cpu("2")], [_OLD, _NEW.node_selector("disk", "ssd")], [], id="may not go there"
        ),
        pytest.param([node("a").cpu("2")], [_OLD, _NEW.on("a")], [], id="has a node"),
        pytest.param([node("a").cpu("2")], [_OLD.deleting(), _NEW], [], id="is on its way out"),
        pytest.param([node("a").cpu("2")], [_OLD.namespace("shop"), _NEW], [], id="of another namespace"),
        pytest.param(
            [node("a").cpu("2")],
            [_OLD.namespace("shop"), _NEW.annotation(hints.REPLACES, "shop/old")],
            [],
            id="of another namespace by its name",
        ),
        pytest.param(
            [node("a").cpu("2")],
            [_OLD, _NEW, pod("newer").annotation(hints.REPLACES, "old")],
            ["old"],
            id="two successors",
        ),
    ],
)
def test_who_goes(nodes: list[NodeBuilder], pods: list[PodBuilder], evicted: list[str]) -> None:
    assert [each.replaced.name for each in due(cluster_of(nodes, pods), policy_of)] == evicted


def _cache() -> Cache:
    cache = Cache(offer_of)
    cache.apply_node(node("a").cpu("2").build())
    cache.apply_pod(_OLD.build())
    cache.apply_pod(_NEW.build())
    return cache


def test_the_successor_is_told_the_node_first() -> None:
    api = _Api()
    assert [each.name for each in Replacements(_cache(), api, policy_of).look()] == ["old"]
    ((path, patch),) = api.asked
    assert path == "/api/v1/namespaces/default/pods/new"
    assert patch["metadata"]["annotations"] == {hints.NODE: "a"}


def test_whose_successor_cannot_be_told_stays() -> None:
    assert Replacements(_cache(), _Api(ApiError("forbidden", 403)), policy_of).look() == []


def test_evictions_respect_the_pod_that_was_meant() -> None:
    api, metrics = _Api(), PlanMetrics()
    Evictions(api, metrics).evict([_OLD.build()])
    ((path, body),) = api.asked
    assert path == "/api/v1/namespaces/default/pods/old/eviction"
    assert (body["kind"], body["deleteOptions"]["preconditions"]["uid"]) == ("Eviction", "default/old")
    assert metrics.registry.get_sample_value("tradewind_evictions_total", {"outcome": "evicted"}) == 1


@pytest.mark.parametrize(
    ("error", "failed"), [(ApiError("budget", 429), 1), (NotFoundError("gone", 404), None)]
)
def test_what_a_budget_keeps_is_tried_again_later(error: ApiError, failed: int | None) -> None:
    api, metrics, now = _Api(error), PlanMetrics(), [0.0]
    evictions = Evictions(api, metrics, lambda: now[0])
    for now[0] in (0, 1, 9):
        evictions.evict([_OLD.build()])
    assert len(api.asked) == 1
    found = metrics.registry.get_sample_value("tradewind_evictions_total", {"outcome": "failed"})
    assert found == failed
    now[0] = 11
    evictions.evict([_OLD.build()])
    assert len(api.asked) == 2
