"""Every kind of pod is called what it is, from a file and by a running service."""

import pytest

from tests.builders import PodBuilder, node, pod
from tests.explain.service import serving
from tests.explain.test_evaluation import Typed, explained
from tradewind.cluster.objects import read_pod

__all__ = ["explained"]  # a fixture

_NODES = [node("cheap").price(0.1), node("dear").price(0.4)]
_WANTED = pod("cart-7").namespace("shop").requests(cpu="2", memory="2Gi")


def gated(*names: str) -> PodBuilder:
    return _WANTED.field("spec", "schedulingGates", value=[{"name": name} for name in names])


_KINDS = [
    pytest.param(
        gated("tradewind.dev/planning"),
        "shop/cart-7 is held by the scheduling gate tradewind.dev/planning until it is planned: "
        "kube-scheduler does not look at it before.",
        id="held by us",
    ),
    pytest.param(
        gated("tradewind.dev/planning", "example.com/quota"),
        "is held by the scheduling gates tradewind.dev/planning and example.com/quota until somebody "
        "removes it:",
        id="held by others too",
    ),
    pytest.param(_WANTED.on("dear").deleting(), "shop/cart-7 is being deleted.", id="deleting"),
    pytest.param(
        _WANTED.on("dear").phase("Succeeded"), "shop/cart-7 has finished: it takes no room", id="succeeded"
    ),
    pytest.param(_WANTED.phase("Failed"), "shop/cart-7 has finished: it takes no room", id="failed"),
    pytest.param(
        _WANTED.field("spec", "schedulerName", value="volcano"),
        "shop/cart-7 names the scheduler volcano, which need not ask Tradewind.",
        id="another scheduler's",
    ),
    pytest.param(
        _WANTED.on("dear").annotation("kubernetes.io/config.mirror", "abc"),
        "shop/cart-7 is a static pod: the kubelet of dear runs it, and no scheduler places it.",
        id="a mirror pod",
    ),
    pytest.param(
        _WANTED.on("dear").owner("Node", "dear", "n-1"), "shop/cart-7 is a static pod", id="owned by a node"
    ),
]


@pytest.mark.parametrize(("wanted", "said"), _KINDS)
def test_a_file_says_what_the_pod_is(explained: Typed, wanted: PodBuilder, said: str) -> None:
    told = explained([*_NODES, wanted], "shop/cart-7")
    assert said in told
    assert told.startswith("shop/cart-7 ")


@pytest.mark.parametrize(("wanted", "said"), _KINDS)
def test_a_service_says_so_of_pods_that_nobody_asked_about(wanted: PodBuilder, said: str) -> None:
    service = serving(*_NODES)
    service.cluster.cache.apply_pod(wanted.build())
    answer = service.client.get("/explain/shop/cart-7")
    assert answer.status_code == 404
    assert said in answer.json()["detail"]
    asked = "kube-scheduler did not ask this Tradewind" in answer.json()["detail"]
    assert asked != ("static" in said)


def test_a_static_pod_is_compared_with_nothing(explained: Typed) -> None:
    static = _WANTED.on("dear").annotation("kubernetes.io/config.mirror", "abc")
    told = explained([*_NODES, static], "shop/cart-7")
    assert told == "shop/cart-7 is a static pod: the kubelet of dear runs it, and no scheduler places it."


def test_a_pod_that_is_over_would_go_nowhere_itself(explained: Typed) -> None:
    told = explained([*_NODES, _WANTED.on("dear").phase("Succeeded")], "shop/cart-7")
    assert "shop/cart-7 ran on dear ($0.200/h). Placed now, a pod like it would go to cheap" in told
    told = explained([*_NODES, _WANTED.phase("Failed")], "shop/cart-7")
    assert "shop/cart-7 was never placed. Placed now, a pod like it" in told
    assert "not placed yet" not in told


def test_an_ordinary_pod_is_nothing_special(explained: Typed) -> None:
    assert explained([*_NODES, _WANTED], "shop/cart-7").startswith("shop/cart-7 is not placed yet. Placed")


def claiming(*volumes: object, claims: object = None) -> PodBuilder:
    wanted = _WANTED.field("spec", "volumes", value=list(volumes))
    return wanted.field("spec", "resourceClaims", value=claims) if claims else wanted


@pytest.mark.parametrize(
    ("wanted", "claims"),
    [
        (claiming({"name": "v", "persistentVolumeClaim": {"claimName": "data"}}), ("PVC data",)),
        (claiming({"name": "scratch", "ephemeral": {}}), ("PVC cart-7-scratch",)),
        (claiming({"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}), ()),
        (
            claiming({"name": "v", "persistentVolumeClaim": {"claimName": "a"}}, claims=[{"name": "gpu"}]),
            ("PVC a", "resource claim gpu"),
        ),
        (claiming({"name": "v", "persistentVolumeClaim": "odd"}, claims="odd"), ("PVC v",)),
    ],
    ids=["a claim", "made for the pod", "none", "a device too", "odd"],
)
def test_what_was_not_looked_at_is_named(
    explained: Typed, wanted: PodBuilder, claims: tuple[str, ...]
) -> None:
    assert read_pod(wanted.json()).claims == claims
    told = explained([*_NODES, wanted], "shop/cart-7")
    assert ("not checked by Tradewind" in told) == bool(claims)
    if claims:
        named = " and ".join(claims)
        assert f"{named}: zone and node not checked by Tradewind; kube-scheduler does that." in told


def test_a_node_that_could_never_hold_the_pod_has_no_price(explained: Typed) -> None:
    # tiny has 1 core for a pod of 2; full has 4, of which 3 are taken; guarded has them behind a taint.
    nodes = [
        *_NODES,
        node("tiny").cpu("1").price(0.01),
        node("full").price(0.02),
        node("guarded").price(0.03).taint("team"),
    ]
    taken = pod("other").namespace("shop").requests(cpu="3").on("full")
    told = explained([*nodes, taken, _WANTED], "shop/cart-7")
    assert "tiny would cost" not in told
    assert "tiny ($" not in told
    assert "full would cost $0.0100/h, but is rejected" in told  # half of 0.02
    assert "guarded would cost $0.0150/h, but is rejected" in told


def test_the_next_step_is_named_where_nobody_was_asked() -> None:
    answer = serving(*_NODES).client.get("/explain/shop/nobody").json()["detail"]
    assert "'tradewind explain shop/nobody --cluster FILE' says where it would go" in answer
