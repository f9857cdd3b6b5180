import json
import math

import pytest

from tests.karpenter_objects import Object, need, node_overlay, node_pool
from tradewind.cluster.karpenter import NodeOverlay, in_order, read_node_overlay, read_node_pool
from tradewind.cluster.wire import Requirement, Taint
from tradewind.errors import UnreadableObjectError


def as_json(document: Object) -> bytes:
    return json.dumps(document).encode()


def test_a_node_pool() -> None:
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    found = read_node_pool(
        as_json(
            node_pool(
                "default",
                need("karpenter.sh/capacity-type", "spot"),
                labels={"team": "shop"},
                taints=[taint],
                limits={"cpu": "100", "memory": 2**30},
                weight=7,
            )
        )
    )
    assert found is not None
    assert found.requirements == (Requirement("karpenter.sh/capacity-type", "In", ("spot",)),)
    assert (found.labels, found.taints) == ({"team": "shop"}, (Taint("spot", "yes", "NoSchedule"),))
    assert (found.limits, found.weight) == ({"cpu": 100_000, "memory": 2**30}, 7)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(node_pool("a", replicas=3), id="a fixed number of nodes"),
        pytest.param(
            {**node_pool("a"), "status": {"conditions": [{"type": "Ready", "status": "False"}]}},
            id="not ready",
        ),
        pytest.param(
            {**node_pool("a"), "metadata": {"name": "a", "deletionTimestamp": "now"}}, id="on its way out"
        ),
    ],
)
def test_pools_that_add_no_nodes(document: Object) -> None:
    assert read_node_pool(as_json(document)) is None


@pytest.mark.parametrize(
    ("spec", "price"),
    [
        pytest.param({"price": "0.05"}, 0.05, id="a price"),
        pytest.param({"price": 0.05}, 0.05, id="as a number"),
        pytest.param({"priceAdjustment": "+10%"}, 0.11, id="a tenth more"),
        pytest.param({"priceAdjustment": "-30%"}, 0.07, id="three tenths less"),
        pytest.param({"priceAdjustment": "-0.05"}, 0.05, id="five cents less"),
        pytest.param({"priceAdjustment": "+.5"}, 0.6, id="fifty cents more"),
        pytest.param({"priceAdjustment": "-0.5"}, 0.0, id="never below nothing"),
        pytest.param({"priceAdjustment": "-100%"}, 0.0, id="free"),
    ],
)
def test_what_an_overlay_makes_of_ten_cents(spec: Object, price: float) -> None:
    found = read_node_overlay(as_json(node_overlay("o", **spec)))
    assert found is not None
    assert found.adjusted(0.1) == pytest.approx(price)


def test_an_unknown_price_stays_unknown_unless_the_overlay_has_one() -> None:
    assert math.isnan(NodeOverlay("o", factor=1.1).adjusted(math.nan))
    assert NodeOverlay("o", price=0.1).adjusted(math.nan) == 0.1


def test_an_overlay_of_capacity_alone_is_left_out() -> None:
    assert read_node_overlay(as_json(node_overlay("o", capacity={"example.com/x": 1}))) is None


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (node_overlay("o", priceAdjustment="ten"), 'NodeOverlay o: priceAdjustment "ten"'),
        (node_overlay("o", price="cheap"), 'NodeOverlay o: price "cheap"'),
        (node_overlay("o", price="-1"), 'NodeOverlay o: price "-1"'),
        (node_pool("p", limits={"cpu": "many"}), "NodePool p: limits"),
        (node_pool(""), "NodePool without a name"),
        ({"metadata": {"name": "p"}, "spec": {}}, "NodePool: "),
    ],
)
def test_what_cannot_be_read_is_named(document: Object, message: str) -> None:
    read = read_node_overlay if document.get("kind") == "NodeOverlay" else read_node_pool
    with pytest.raises(UnreadableObjectError) as caught:
        read(as_json(document))
    assert message in str(caught.value)


def test_the_heaviest_comes_first() -> None:
    found = in_order([], [NodeOverlay("a"), NodeOverlay("b", weight=5), NodeOverlay("c")])
    assert [each.name for each in found.overlays] == ["b", "c", "a"]
