"""Pods that no node has room for, and the pools whose new nodes would have it."""

from collections.abc import Iterator

import pytest

from tests.builders import PodBuilder, namespace, node, pod
from tests.planner.cases import HOST, ZONE, copies, filled, policy_of
from tradewind.cluster import hints
from tradewind.planner.planner import PlanResult, plan
from tradewind.planner.settings import PoolTaint, PoolTemplate
from tradewind.planner.worker import Worker

SMALL = PoolTemplate(name="small", resources={"cpu": 4, "memory": "16Gi"}, price=1, labels={ZONE: "a"})
LARGE = PoolTemplate(name="large", resources={"cpu": 16, "memory": "64Gi"}, price=3, max_nodes=2)
GPU = PoolTemplate(
    name="gpu",
    resources={"cpu": 8, "memory": "32Gi", "nvidia.com/gpu": 1},
    price=9,
    taints=(PoolTaint(key="gpu"),),
    durable=False,
)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    found = Worker()
    yield found
    found.close()


def _planned(pods: list[PodBuilder], *pools: PoolTemplate, worker: Worker | None = None) -> PlanResult:
    cache = filled([node("full").cpu("100m")], pods)
    return plan(cache.snapshot(), cache.all_pods(), policy_of, worker, 5, pools=pools)


def _pools(pods: list[PodBuilder], *pools: PoolTemplate, worker: Worker | None = None) -> dict[str, str]:
    return dict(_planned(pods, *pools, worker=worker).pools)


def test_only_pods_without_a_place_want_a_new_node() -> None:
    pods = [pod("fits").requests(cpu="100m"), pod("left").requests(cpu="1")]
    found = _planned(pods, SMALL)
    assert [each.pod for each in found.plan.placements] == ["default/fits"]
    assert (found.pools, found.new_nodes) == ({"default/left": "small"}, {"small": 1})
    assert "default/left" in found.plan.unplaced


def test_pools_of_higher_weight_are_filled_first() -> None:
    """Whatever they cost; what they have no room for goes on to the others."""
    dear = LARGE.model_copy(update={"weight": 5, "max_nodes": 1})
    pods = copies(pod("p").requests(cpu="3"), "p", 6)
    assert dict(_planned(pods, SMALL, dear).new_nodes) == {"large": 1, "small": 1}


def test_a_pool_without_a_price_grows_too() -> None:
    free = SMALL.model_copy(update={"price": None})
    assert _pools([pod("p").requests(cpu="3")], free) == {"default/p": "small"}


def test_without_pools_nothing_grows() -> None:
    assert _pools([pod("left").requests(cpu="1")]) == {}


@pytest.mark.parametrize(
    ("start", "pool"),
    [
        pytest.param(pod("p").requests(cpu="3"), "small", id="the cheapest"),
        pytest.param(pod("p").requests(cpu="9"), "large", id="the only one with the room"),
        pytest.param(pod("p").requests(cpu="99"), None, id="none has the room"),
        pytest.param(pod("p").requests(cpu="3").node_selector(ZONE, "a"), "small", id="by its labels"),
        pytest.param(pod("p").requests(cpu="3").node_selector(ZONE, "b"), None, id="none has the label"),
        pytest.param(pod("p").requests({"nvidia.com/gpu": 1}), None, id="not over a taint"),
        pytest.param(
            pod("p").requests({"nvidia.com/gpu": 1}).toleration(key="gpu", operator="Exists"),
            "gpu",
            id="a taint that it tolerates",
        ),
        pytest.param(pod("p").requests(cpu="3").annotation(hints.NODE, "full"), None, id="not another node"),
    ],
)
def test_which_pool(start: PodBuilder, pool: str | None, worker: Worker) -> None:
    assert _pools([start], SMALL, LARGE, GPU, worker=worker).get("default/p") == pool


def test_pods_share_new_nodes_as_far_as_they_may_be_added() -> None:
    """Two nodes of 16 cores have room for 10 pods of 3; the others find none."""
    found = _planned(copies(pod("p").requests(cpu="3"), "p", 14), LARGE)
    assert (len(found.pools), found.new_nodes) == (10, {"large": 2})


def test_each_new_node_is_one_of_its_own() -> None:
    start = pod("p").label("app", "p").requests(cpu="1").anti_affinity(HOST, {"app": "p"})
    assert _planned(copies(start, "p", 3), SMALL).new_nodes == {"small": 3}


def test_a_gang_gets_new_nodes_for_all_or_none() -> None:
    start = pod("p").requests(cpu="10").annotation("tradewind.dev/gang", "g")
    assert len(_pools(copies(start, "p", 2), LARGE)) == 2
    assert _pools(copies(start, "p", 3), LARGE) == {}


def test_nobody_grows_a_pool_for_an_alternative() -> None:
    pods = [
        pod(name).requests(cpu=cpu).annotation(hints.XOR, "v") for name, cpu in (("a", "50m"), ("b", "1"))
    ]
    assert _pools(pods, SMALL) == {}


def test_namespaces_are_selected_by_their_labels_there_too() -> None:
    anchor = pod("anchor").namespace("other").label("app", "a").requests(cpu="1")
    follower = (
        pod("f")
        .requests(cpu="1")
        .affinity(ZONE, {"app": "a"}, namespaceSelector={"matchLabels": {"team": "x"}})
    )
    cache = filled([], [anchor, follower])
    cache.apply_namespace(namespace("other").label("team", "x").build())
    found = plan(cache.snapshot(), cache.all_pods(), policy_of, None, 1, pools=[SMALL])
    assert set(found.pools) == {"other/anchor", "default/f"}
