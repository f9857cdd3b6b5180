"""Which nodes Karpenter could add, by its NodePools."""

import json
from collections.abc import Mapping

import pytest

from tests.builders import NodeBuilder, node, pod
from tests.karpenter_objects import Object, need, node_pool
from tradewind.cluster.karpenter import NodePool, read_node_pool
from tradewind.cluster.objects import Node
from tradewind.cluster.snapshot import Offer
from tradewind.planner.node_pools import TYPE, ZONE, Surroundings, allocatable_of, surroundings, templates
from tradewind.planner.settings import PoolTemplate

_TERMS = "karpenter.sh/capacity-type"
_CATEGORY, _CPU = "karpenter.k8s.aws/instance-category", "karpenter.k8s.aws/instance-cpu"
_GIB = 2**30
_SIZES = {
    "m5.large": (2000, 8 * _GIB, 0),
    "m6g.large": (2000, 8 * _GIB, 0),
    "m5.xlarge": (4000, 16 * _GIB, 0),
    "g4dn.xlarge": (4000, 16 * _GIB, 1),
}
_PRICES = {"m5.large": 0.096, "m6g.large": 0.077, "m5.xlarge": 0.192, "g4dn.xlarge": 0.526}


def offer_of(built: Node) -> Offer:
    spot = built.labels[_TERMS] == "spot"
    price = _PRICES.get(built.labels[TYPE], float("nan")) * (0.4 if spot else 1)
    return Offer(price, price, 0.1 if spot else 0.001, durable=not spot)


def around(*nodes: NodeBuilder, sizes: Mapping[str, tuple[int, int, int]] = _SIZES) -> Surroundings:
    return surroundings([each.build() for each in nodes], [], sizes, [])


def read(document: Object) -> NodePool:
    found = read_node_pool(json.dumps(document).encode())
    assert found is not None
    return found


def made(document: Object, where: Surroundings | None = None) -> dict[str, PoolTemplate]:
    found = templates([read(document)], where or around(), offer_of)
    return {each.name: each for each in found}


def types(document: Object, where: Surroundings | None = None) -> set[str]:
    return {each.labels[TYPE] for each in made(document, where).values()}


_ON_DEMAND = need(_TERMS, "on-demand")


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        pytest.param([need(_CATEGORY, "m")], {"m6g.large", "m5.xlarge"}, id="the cheapest of each size"),
        pytest.param(
            [need(_CATEGORY, "m"), need("kubernetes.io/arch", "amd64")],
            {"m5.large", "m5.xlarge"},
            id="no arm64",
        ),
        pytest.param([need(_CPU, "3", operator="Gt"), need(_CATEGORY, "m")], {"m5.xlarge"}, id="by cores"),
        pytest.param([need(TYPE, "m5.large", "m7i.large")], {"m5.large"}, id="by name"),
        pytest.param(
            [need("karpenter.k8s.aws/instance-family", "m5", operator="NotIn"), need(_CATEGORY, "m")],
            {"m6g.large"},
            id="but for a family",
        ),
        pytest.param(
            [need("karpenter.k8s.aws/instance-gpu-count", "0", operator="Gt"), need(_CATEGORY, "g")],
            {"g4dn.xlarge"},
            id="with accelerators",
        ),
        pytest.param(
            [need("karpenter.k8s.aws/instance-hypervisor", "nitro"), need(TYPE, "m5.large")],
            {"m5.large"},
            id="what nobody knows of a type is taken to be right",
        ),
        pytest.param([need(_CATEGORY, "x")], set(), id="none"),
    ],
)
def test_the_types_that_a_pool_allows(needs: list[Object], expected: set[str]) -> None:
    assert types(node_pool("p", _ON_DEMAND, *needs)) == expected


def test_a_dearer_type_of_the_same_size_is_left_out() -> None:
    """m6g.large at 0.077 has all that m5.large has at 0.096."""
    assert "m5.large" not in types(node_pool("p", _ON_DEMAND, need(_CATEGORY, "m")))


def test_labels_taints_weight_and_terms() -> None:
    document = node_pool(
        "p",
        need(TYPE, "m5.large"),
        need(ZONE, "a"),
        need("tier", "gold", "silver"),
        labels={"team": "shop"},
        taints=[{"key": "dedicated", "effect": "NoSchedule"}],
        weight=3,
    )
    found = made(document)
    assert set(found) == {
        f"p (m5.large, {terms}, a, {tier})" for terms in ("spot", "on-demand") for tier in ("gold", "silver")
    }
    each = found["p (m5.large, spot, a, gold)"]
    assert each.price == pytest.approx(0.096 * 0.4)
    assert (each.durable, each.weight) == (False, 3)
    expected = {ZONE: "a", "tier": "gold", "team": "shop", _TERMS: "spot", "karpenter.sh/nodepool": "p"}
    assert expected.items() <= each.labels.items()
    assert [taint.key for taint in each.taints] == ["dedicated"]


def test_zones_are_those_of_the_cluster_unless_the_pool_names_some() -> None:
    where = around(node("n").label(ZONE, "a"), node("m").label(ZONE, "b"))
    needs = _ON_DEMAND, need(TYPE, "m5.large")
    assert {each.labels[ZONE] for each in made(node_pool("p", *needs), where).values()} == {"a", "b"}
    but_a = need(ZONE, "a", operator="NotIn")
    assert {each.labels[ZONE] for each in made(node_pool("p", *needs, but_a), where).values()} == {"b"}
    of_c = need(ZONE, "c")
    assert {each.labels[ZONE] for each in made(node_pool("p", *needs, of_c), where).values()} == {"c"}


def test_a_node_of_the_type_knows_better_than_the_list() -> None:
    seen = node("n").cpu("1930m").memory("7Gi").pods(29).label(TYPE, "m5.large")
    (found,) = made(node_pool("p", _ON_DEMAND, need(TYPE, "m5.large")), around(seen)).values()
    assert found.allocatable() == {"cpu": 1930, "memory": 7 * _GIB, "pods": 29}


def test_daemon_sets_take_their_part() -> None:
    """Two pods of one DaemonSet, and of each node 100m for it."""
    agents = [pod(f"agent-{at}").requests(cpu="100m").owner("DaemonSet", "agent", "u").build() for at in "ab"]
    seen = node("n").cpu("2").memory("7Gi").pods(29).label(TYPE, "m5.large").build()
    where = surroundings([seen], agents, {}, [])
    (found,) = made(node_pool("p", _ON_DEMAND), where).values()
    assert (found.allocatable()["cpu"], found.allocatable()["pods"]) == (1900, 28)


@pytest.mark.parametrize(
    ("limits", "nodes"),
    [
        pytest.param({}, 20, id="none"),
        pytest.param({"cpu": "12"}, 4, id="12 cores, 4 in use, 2 each"),
        pytest.param({"cpu": "12", "memory": "20Gi"}, 0, id="the tighter one: 20 Gi, 16 in use, 7 each"),
        pytest.param({"nodes": "3"}, 1, id="of nodes"),
        pytest.param({"cpu": "4"}, 0, id="used up"),
    ],
)
def test_limits(limits: Mapping[str, str], nodes: int) -> None:
    used = [
        node(name).cpu("2").memory("8Gi").label(TYPE, "m5.large").label("karpenter.sh/nodepool", "p")
        for name in "ab"
    ]
    found = made(node_pool("p", _ON_DEMAND, need(TYPE, "m5.large"), limits=limits), around(*used, sizes={}))
    assert sum(each.max_nodes for each in found.values()) == nodes


def test_a_type_without_a_price_is_still_a_node() -> None:
    (spot,) = made(
        node_pool("p", need(_TERMS, "spot"), need(TYPE, "x1.big")),
        around(sizes={"x1.big": (2000, 8 * _GIB, 0)}),
    ).values()
    assert (spot.price, spot.interruption_rate) == (None, 0.0)


def test_what_is_left_for_pods() -> None:
    """Of 4 cores 60 + 10 + 2 x 5 = 80m are kept; of 16 GiB 7.5 %, and 255 + 1210 + 100 MiB."""
    found = allocatable_of(4000, 16 * _GIB, 1)
    assert found["cpu"] == 3920
    assert found["memory"] == int(16 * _GIB * 0.925) - 1565 * 2**20
    assert found["nvidia.com/gpu"] == 1
