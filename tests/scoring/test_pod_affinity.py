from collections.abc import Sequence
from typing import Any

import pytest

from scoring.filters.pod_affinity import PodAffinity
from tests.builders import PodBuilder, expression, namespace, node, pod
from tests.scoring.feasible import feasible

_ZONE, _RACK = "zone", "rack"

# Two zones of two racks each; node "e" has a rack and no zone.
_NODES = [
    node("a").label(_ZONE, "z1").label(_RACK, "r1"),
    node("b").label(_ZONE, "z1").label(_RACK, "r2"),
    node("c").label(_ZONE, "z2").label(_RACK, "r3"),
    node("d").label(_ZONE, "z2").label(_RACK, "r4"),
    node("e").label(_RACK, "r1"),
]
_NAMESPACES = [
    namespace("default").label("team", "red"),
    namespace("shop").label("team", "blue"),
    namespace("bank"),
]
_DB = pod("db").label("app", "db").label("track", "stable")
_WANTED = pod("wanted").label("app", "web").label("track", "stable")


def _expressions(*each: dict[str, Any]) -> dict[str, Any]:
    return {"labelSelector": {"matchExpressions": list(each)}}


@pytest.mark.parametrize(
    ("wanted", "placed", "passing"),
    [
        pytest.param(_WANTED, [], "a b c d e", id="without affinity every node will do"),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}),
            [_DB.on("a")],
            "a b",
            id="the whole zone of the pod asked for",
        ),
        pytest.param(
            _WANTED.affinity("kubernetes.io/hostname", {"app": "db"}), [_DB.on("a")], "a", id="the same node"
        ),
        pytest.param(
            _WANTED.affinity(_RACK, {"app": "db"}),
            [_DB.on("a")],
            "a e",
            id="a rack across the border of zones",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}),
            [_DB.on("e")],
            "",
            id="a pod outside of all zones is in none",
        ),
        pytest.param(_WANTED.affinity(_ZONE, {"app": "db"}), [], "", id="nobody to be near to"),
        pytest.param(
            _WANTED.affinity("nobody-has-it", {"app": "db"}), [_DB.on("a")], "", id="a label that no node has"
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}), [_DB.on("gone")], "", id="a pod on a node that is no more"
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}),
            [_DB.on("a").phase("Succeeded"), _DB.uid("2").on("c").deleting()],
            "c d",
            id="a finished pod is gone and one that is being deleted is still there",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}).affinity(_RACK, {"track": "stable"}),
            [_DB.on("a"), pod("other").label("app", "db").on("c")],
            "a",
            id="only a pod that matches both terms counts for either",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}).affinity(_ZONE, {"app": "cache"}),
            [_DB.on("a"), pod("cache").label("app", "cache").on("a")],
            "",
            id="two pods that match one term each are not enough",
        ),
        # The pod matches its own term, and nobody else does: it is the first of its kind.
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}), [_DB.on("a")], "a b c d", id="the first of a group"
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}),
            [_WANTED.uid("first").on("c")],
            "c d",
            id="the second follows the first",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}),
            [_WANTED.uid("first").on("e")],
            "a b c d",
            id="a first that is in no zone does not bind the second",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}).affinity(_RACK, {"app": "web"}),
            [_WANTED.uid("first").on("e")],
            "",
            id="but does where it is in a domain of another term",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}).affinity("nobody-has-it", {"app": "web"}),
            [],
            "",
            id="the first still needs all labels",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "web"}, namespaces=["shop"]),
            [],
            "",
            id="a pod that looks only into another namespace is not the first of anything",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, **_expressions(expression("app", "In", "db", "cache"))),
            [_DB.on("a")],
            "a b",
            id="In",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, **_expressions(expression("app", "NotIn", "web", "cache"))),
            [_DB.on("a"), pod("bare").on("c")],
            "a b c d",
            id="NotIn holds for a missing label",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, **_expressions(expression("app", "Exists"))),
            [_DB.on("a"), pod("bare").on("c")],
            "a b",
            id="Exists",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, **_expressions(expression("app", "DoesNotExist"))),
            [_DB.on("a"), pod("bare").on("c")],
            "c d",
            id="DoesNotExist",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, labelSelector={}),
            [_DB.on("a")],
            "a b",
            id="an empty selector means any pod",
        ),
        pytest.param(_WANTED.affinity(_ZONE), [_DB.on("a")], "", id="a missing selector means none"),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}),
            [_DB.namespace("shop").on("a")],
            "",
            id="its own namespace",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, namespaces=["shop", "bank"]),
            [_DB.namespace("shop").on("a"), _DB.on("c")],
            "a b",
            id="namespaces by name, and no longer its own",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, namespaces=[]),
            [_DB.on("a")],
            "a b",
            id="an empty list of namespaces is its own",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, namespaceSelector={"matchLabels": {"team": "blue"}}),
            [_DB.namespace("shop").on("a"), _DB.on("c")],
            "a b",
            id="namespaces by their labels",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, namespaceSelector={}),
            [_DB.namespace("bank").on("a")],
            "a b",
            id="an empty selector of namespaces means all",
        ),
        pytest.param(
            _WANTED.affinity(
                _ZONE, {"app": "db"}, namespaces=["bank"], namespaceSelector={"matchLabels": {"team": "blue"}}
            ),
            [_DB.namespace("bank").on("a"), _DB.namespace("shop").on("c"), _DB.on("d")],
            "a b c d",
            id="namespaces by name or by label",
        ),
        pytest.param(
            _WANTED.affinity(
                _ZONE,
                {"app": "db"},
                namespaceSelector={"matchExpressions": [expression("team", "NotIn", "blue")]},
            ),
            [_DB.namespace("shop").on("a"), _DB.namespace("bank").on("c")],
            "c d",
            id="NotIn leaves a namespace out",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, matchLabelKeys=["track"]),
            [_DB.on("a"), _DB.uid("2").label("track", "canary").on("c")],
            "a b",
            id="a label that must be the same",
        ),
        pytest.param(
            _WANTED.affinity(_ZONE, {"app": "db"}, mismatchLabelKeys=["track"]),
            [_DB.on("a"), _DB.uid("2").label("track", "canary").on("c")],
            "c d",
            id="a label that must be another",
        ),
    ],
)
def test_pod_affinity(wanted: PodBuilder, placed: Sequence[PodBuilder], passing: str) -> None:
    assert feasible(PodAffinity(), wanted, _NODES, placed, _NAMESPACES) == passing


@pytest.mark.parametrize(
    ("selector", "passing"),
    [
        pytest.param(
            {"matchExpressions": [expression("team", "NotIn", "blue")]}, "a b", id="NotIn lets all in"
        ),
        pytest.param(
            {"matchExpressions": [expression("team", "DoesNotExist")]}, "a b", id="DoesNotExist lets all in"
        ),
        pytest.param({"matchLabels": {"team": "red"}}, "", id="a selector that asks for a label is kept"),
    ],
)
def test_pod_affinity_reads_namespace_selectors_like_kube_scheduler_until_it_is_mended(
    selector: dict[str, Any], passing: str
) -> None:
    """Seen on kube-scheduler 1.36.3; kubernetes #141526."""
    wanted = _WANTED.affinity(_ZONE, {"app": "db"}, namespaceSelector=selector)
    placed = [_DB.namespace("shop").on("a")]
    assert feasible(PodAffinity(widened_namespaces=True), wanted, _NODES, placed, _NAMESPACES) == passing
    assert not feasible(PodAffinity(), wanted, _NODES, placed, _NAMESPACES)
