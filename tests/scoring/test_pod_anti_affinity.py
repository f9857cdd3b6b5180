from collections.abc import Sequence

import pytest

from scoring.filters.pod_anti_affinity import PodAntiAffinity
from tests.builders import PodBuilder, cluster_of, expression, namespace, node, pod
from tests.scoring.feasible import feasible
from tradewind.cluster.placed import group_of

_ZONE = "zone"
_NODES = [
    node("a").label(_ZONE, "z1"),
    node("b").label(_ZONE, "z1"),
    node("c").label(_ZONE, "z2"),
    node("outside"),
]
_NAMESPACES = [namespace("default").label("team", "red"), namespace("shop").label("team", "blue")]
_DB = pod("db").label("app", "db")
_WEB = pod("web").label("app", "web")
_NOT_BLUE = {"matchExpressions": [expression("team", "NotIn", "blue")]}


@pytest.mark.parametrize(
    ("wanted", "placed", "passing"),
    [
        pytest.param(_WEB, [_DB.on("a")], "a b c outside", id="without anti-affinity every node will do"),
        pytest.param(
            _WEB.anti_affinity(_ZONE, {"app": "db"}),
            [_DB.on("a")],
            "c outside",
            id="not into the zone of a pod that is not wanted",
        ),
        pytest.param(
            _WEB.anti_affinity("kubernetes.io/hostname", {"app": "db"}),
            [_DB.on("a")],
            "b c outside",
            id="not onto its node",
        ),
        pytest.param(
            _WEB.anti_affinity(_ZONE, {"app": "db"}),
            [_DB.on("outside")],
            "a b c outside",
            id="a pod outside of all zones disturbs nobody",
        ),
        pytest.param(
            _WEB.anti_affinity("nobody-has-it", {"app": "db"}),
            [_DB.on("a")],
            "a b c outside",
            id="a label that no node has separates nobody",
        ),
        pytest.param(
            _WEB.anti_affinity(_ZONE, {"app": "db"}).anti_affinity("kubernetes.io/hostname", {"app": "web"}),
            [_DB.on("a"), _WEB.uid("2").on("c")],
            "outside",
            id="each term by itself",
        ),
        pytest.param(
            _WEB.anti_affinity(_ZONE, {"app": "web"}),
            [],
            "a b c outside",
            id="the first of a group that keeps apart",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, {"app": "web"}).on("a")],
            "c outside",
            id="a placed pod keeps the zone free of others",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, {"app": "web"}).on("outside")],
            "a b c outside",
            id="which it cannot where there is no zone",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, {"app": "cache"}).on("a")],
            "a b c outside",
            id="a placed pod that keeps somebody else away",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, labelSelector={}).on("a")],
            "c outside",
            id="a placed pod that keeps everybody away",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE).on("a")],
            "a b c outside",
            id="a missing selector keeps nobody away",
        ),
        pytest.param(
            _WEB,
            [
                _DB.anti_affinity(
                    _ZONE, labelSelector={"matchExpressions": [expression("app", "NotIn", "db")]}
                ).on("c")
            ],
            "a b outside",
            id="a placed pod that keeps all others away",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, {"app": "web"}).on("a").phase("Failed")],
            "a b c outside",
            id="a finished pod keeps nobody away",
        ),
        pytest.param(
            _WEB,
            [_DB.anti_affinity(_ZONE, {"app": "web"}).on("a").deleting()],
            "c outside",
            id="one that is being deleted still does",
        ),
        pytest.param(
            _WEB,
            [_DB.namespace("shop").anti_affinity(_ZONE, {"app": "web"}).on("a")],
            "a b c outside",
            id="a placed pod speaks of its own namespace",
        ),
        pytest.param(
            _WEB,
            [_DB.namespace("shop").anti_affinity(_ZONE, {"app": "web"}, namespaces=["default"]).on("a")],
            "c outside",
            id="or of those that it names",
        ),
        pytest.param(
            _WEB,
            [
                _DB.namespace("shop")
                .anti_affinity(_ZONE, {"app": "web"}, namespaceSelector={"matchLabels": {"team": "red"}})
                .on("a")
            ],
            "c outside",
            id="or of those that have a label",
        ),
        pytest.param(
            _WEB.namespace("shop"),
            [_DB.anti_affinity(_ZONE, {"app": "web"}, namespaceSelector=_NOT_BLUE).on("a")],
            "a b c outside",
            id="or of those that lack one",
        ),
        pytest.param(
            _WEB.label("track", "canary"),
            [
                _DB.label("track", "stable")
                .anti_affinity(_ZONE, {"app": "web"}, matchLabelKeys=["track"])
                .on("a"),
                _DB.uid("2")
                .label("track", "stable")
                .anti_affinity(_ZONE, {"app": "web"}, mismatchLabelKeys=["track"])
                .on("c"),
            ],
            "a b outside",
            id="labels that must be the same or another are those of the placed pod",
        ),
    ],
)
def test_pod_anti_affinity(wanted: PodBuilder, placed: Sequence[PodBuilder], passing: str) -> None:
    assert feasible(PodAntiAffinity(), wanted, _NODES, placed, _NAMESPACES) == passing


def test_own_namespace_selectors_are_read_like_kube_scheduler_does_until_it_is_mended() -> None:
    """Seen on kube-scheduler 1.36.3, kubernetes #141526; those of placed pods it reads right."""
    placed = [_DB.namespace("shop").on("a")]
    own = _WEB.anti_affinity(_ZONE, {"app": "db"}, namespaceSelector=_NOT_BLUE)
    assert feasible(PodAntiAffinity(), own, _NODES, placed, _NAMESPACES) == "a b c outside"
    assert feasible(PodAntiAffinity(widened_namespaces=True), own, _NODES, placed, _NAMESPACES) == "c outside"
    others = [_DB.anti_affinity(_ZONE, {"app": "web"}, namespaceSelector=_NOT_BLUE).on("a")]
    rule = PodAntiAffinity(widened_namespaces=True)
    assert feasible(rule, _WEB.namespace("shop"), _NODES, others, _NAMESPACES) == "a b c outside"


def test_cluster_without_the_pod_that_was_in_the_way() -> None:
    """The index of groups is shared by snapshots: one that lacks a group must not find it."""
    rule, wanted = PodAntiAffinity(), _WEB.anti_affinity(_ZONE, {"app": "db"}).build()
    repelling = _DB.anti_affinity(_ZONE, {"app": "web"}).on("a").build()
    full = cluster_of(_NODES, [_DB.anti_affinity(_ZONE, {"app": "web"}).on("a")])
    assert rule.feasible(wanted, full.nodes).tolist() == [False, False, True, True]
    freed = full.without([repelling])
    assert group_of(repelling) not in freed.nodes.cluster.placed.groups
    assert rule.feasible(wanted, freed.nodes).all()
    assert rule.feasible(wanted, full.nodes).tolist() == [False, False, True, True]
