"""Karpenter's objects of a live cluster."""

import json
import logging
from collections.abc import Mapping

import pytest

from tests.builders import node
from tests.karpenter_objects import Object, node_overlay, node_pool
from tradewind.cluster.cache import Cache, WorkCounter
from tradewind.cluster.karpenter import NodePool, Provisioning
from tradewind.errors import ApiError, NotFoundError
from tradewind.market.market import Market
from tradewind.market.rows import csv_rows
from tradewind.market.table import PriceTable
from tradewind.planner.settings import PoolTemplate
from tradewind.runtime import provisioning
from tradewind.runtime.assembly import Assembly
from tradewind.runtime.provisioning import KarpenterObjects, pools
from tradewind.runtime.source import EXAMPLES, FileSource

_POOLS, _OVERLAYS = "/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1alpha1/nodeoverlays"


class _Client:
    """Answers with what the API server has; what it does not have is not found."""

    def __init__(self, lists: Mapping[str, list[Object] | Exception]) -> None:
        self.lists = lists

    def get(self, path: str) -> bytes:
        found = self.lists.get(path, NotFoundError("the server could not find it", 404))
        if isinstance(found, Exception):
            raise found
        return json.dumps({"items": found}).encode()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioning, "_LIST_SECONDS", 0.0)


def objects(lists: Mapping[str, list[Object] | Exception]) -> KarpenterObjects:
    found = KarpenterObjects(_Client(lists))  # type: ignore[arg-type]
    found.refresh()
    return found


def test_a_cluster_without_karpenter_is_no_trouble(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert objects({}).found == Provisioning()
    assert not caplog.records


def test_pools_without_overlays(caplog: pytest.LogCaptureFixture) -> None:
    """As in a cluster that has Karpenter without the alpha resource."""
    assert [pool.name for pool in objects({_POOLS: [node_pool("a")]}).found.pools] == ["a"]
    assert not caplog.records


def test_both() -> None:
    found = objects({_POOLS: [node_pool("a")], _OVERLAYS: [node_overlay("o", price="1")]}).found
    assert ([each.name for each in found.pools], [each.name for each in found.overlays]) == (["a"], ["o"])


@pytest.mark.parametrize(
    ("status", "level", "message"),
    [
        pytest.param(
            403,
            "INFO",
            "nodepools of Karpenter are not read: no permission to list them (component market)",
            id="nobody has to let us look",
        ),
        pytest.param(
            500, "WARNING", "listing nodepools of Karpenter failed: refused", id="it should have answered"
        ),
    ],
)
def test_a_refusal_is_told_once_and_the_last_ones_stay(
    caplog: pytest.LogCaptureFixture, status: int, level: str, message: str
) -> None:
    caplog.set_level(logging.INFO)
    client = _Client({_POOLS: [node_pool("a")]})
    found = KarpenterObjects(client)  # type: ignore[arg-type]
    found.refresh()
    client.lists = {_POOLS: ApiError("refused", status)}
    found.refresh()
    found.refresh()
    assert [each.name for each in found.found.pools] == ["a"]
    assert [(record.levelname, record.message) for record in caplog.records] == [(level, message)]


def test_one_that_cannot_be_read_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    broken = node_pool("broken", limits={"cpu": "many"})
    assert [each.name for each in objects({_POOLS: [broken, node_pool("a")]}).found.pools] == ["a"]
    assert "left out: NodePool broken: limits" in caplog.text


_TYPE = "node.kubernetes.io/instance-type"


def test_a_pool_of_the_configuration_stands_for_a_node_pool_of_its_name() -> None:
    """And has the table's price for its labels, where it has none of its own."""
    market = Market(table=PriceTable(csv_rows("instance_type,price\nm5.large,0.1\n")))
    cache = Cache(market.offer_of)
    cache.apply_node(node("n").label(_TYPE, "m5.large").build())
    own = PoolTemplate(name="own", resources={"cpu": 2}, labels={_TYPE: "m5.large"})
    karpenter = Provisioning((NodePool("own"), NodePool("other")))
    found = pools([own], karpenter, cache, market)
    assert {each.name: each.price for each in found if each.durable} == {
        "own": 0.1,
        "other (m5.large, on-demand)": 0.1,
    }


class _Growing(FileSource):
    """A cluster in which a NodePool is made."""

    def refresh(self) -> None:
        self.provisioning = Provisioning((NodePool("new"),))


def test_a_new_pool_wakes_those_who_plan_for_waiting_pods() -> None:
    """It is no event of the watches, and a pod that has no place waits for one."""
    parts = Assembly(_Growing("a test cluster", EXAMPLES / "cluster.json"), None)
    with parts.started():
        seen = parts.cache.wait_for_work(WorkCounter(), 0)
        parts._follow_karpenter()
        woken = parts.cache.wait_for_work(seen, 0)
        assert woken.openings == seen.openings + 1
        parts._follow_karpenter()
        assert parts.cache.wait_for_work(woken, 0) == woken
