from collections.abc import Sequence

import pytest

from scoring.filters.topology_spread import TopologySpread
from tests.builders import NodeBuilder, PodBuilder, expression, node, pod
from tests.scoring.feasible import feasible

_ZONE, _HOST = "zone", "kubernetes.io/hostname"
_A, _B, _C, _D = (
    node("a").label(_ZONE, "z1"),
    node("b").label(_ZONE, "z1"),
    node("c").label(_ZONE, "z2"),
    node("d").label(_ZONE, "z3"),
)
_NODES = [_A, _B, _C]
_WEB = pod("web").label("app", "web")
_APP = {"app": "web"}


def _webs(places: str) -> list[PodBuilder]:
    """Pods of the app on these nodes."""
    return [_WEB.uid(f"{place}{index}").on(place) for index, place in enumerate(places.split())]


@pytest.mark.parametrize(
    ("wanted", "placed", "passing"),
    [
        pytest.param(_WEB, _webs("a a a"), "a b c", id="without a constraint every node will do"),
        # with the pod z1 has 2, the emptiest zone 0: 2 > 1
        pytest.param(_WEB.spread(_ZONE, _APP), _webs("a"), "c", id="into the emptier zone"),
        pytest.param(_WEB.spread(_ZONE, _APP), _webs("a c"), "a b c", id="anywhere when they are level"),
        pytest.param(_WEB.spread(_ZONE, _APP, maxSkew=2), _webs("a"), "a b c", id="a greater skew"),
        # z1 has 2 and would have 3, z2 has 0: 3 > 2
        pytest.param(_WEB.spread(_ZONE, _APP, maxSkew=2), _webs("a b"), "c", id="two nodes are one zone"),
        pytest.param(_WEB.spread(_HOST, _APP), _webs("a"), "b c", id="onto an emptier node"),
        pytest.param(
            _WEB.spread(_ZONE, _APP, whenUnsatisfiable="ScheduleAnyway"),
            _webs("a"),
            "a b c",
            id="a mere wish",
        ),
        # zones z1: 1, z2: 0; nodes b and c have none
        pytest.param(_WEB.spread(_ZONE, _APP).spread(_HOST, _APP), _webs("a"), "c", id="both constraints"),
        # the pod itself does not count: z1 stays at 1, and 1 - 0 is allowed
        pytest.param(
            pod("other").spread(_ZONE, _APP),
            _webs("a"),
            "a b c",
            id="a pod that does not match its own selector",
        ),
        pytest.param(
            pod("other").spread(_ZONE, _APP), _webs("a a"), "c", id="which still looks at the others"
        ),
        pytest.param(
            _WEB.spread(_ZONE, labelSelector={"matchExpressions": [expression("app", "NotIn", "db")]}),
            [pod("db").label("app", "db").on("c"), *_webs("a")],
            "c",
            id="a selector with an expression",
        ),
        # an empty selector counts no pod but the one that waits: 0 + 1 - 0
        pytest.param(_WEB.spread(_ZONE, labelSelector={}), _webs("a a a"), "a b c", id="an empty selector"),
        pytest.param(_WEB.spread(_ZONE), _webs("a a a"), "a b c", id="a missing selector counts nobody"),
        pytest.param(
            _WEB.spread(_ZONE, _APP), [_WEB.namespace("shop").on("a")], "a b c", id="pods of other namespaces"
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP),
            [_WEB.namespace("shop").on("a"), pod("x").on("a"), pod("y").label("app", "db").on("a")],
            "a b c",
            id="pods of other namespaces and other pods of its own",
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP), [_WEB.on("a").deleting()], "a b c", id="pods that are being deleted"
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP), [_WEB.on("a").phase("Succeeded")], "a b c", id="pods that have finished"
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP), [_WEB.on("gone")], "a b c", id="pods on a node that is no more"
        ),
        pytest.param(
            _WEB.label("rev", "2").spread(_ZONE, _APP, matchLabelKeys=["rev", "no-such-label"]),
            [each.label("rev", "1") for each in _webs("a a")],
            "a b c",
            id="pods of another revision",
        ),
        pytest.param(
            _WEB.label("rev", "2").spread(_ZONE, labelSelector={}, matchLabelKeys=["rev"]),
            [each.label("rev", "2") for each in _webs("a")],
            "c",
            id="a revision alone is a selector",
        ),
    ],
)
def test_topology_spread(wanted: PodBuilder, placed: Sequence[PodBuilder], passing: str) -> None:
    assert feasible(TopologySpread(), wanted, _NODES, placed) == passing


_POOL = [_A.label("pool", "x"), _C.label("pool", "x"), _D]
_IN_POOL = _WEB.node_selector("pool", "x")
_TAINTED = [_A, _C, _D.taint("broken")]


@pytest.mark.parametrize(
    ("wanted", "nodes", "placed", "passing"),
    [
        # z1 and z2 have one pod each; where three zones are wanted the least counts as 0 instead of 1
        pytest.param(
            _WEB.spread(_ZONE, _APP, minDomains=2), _NODES, _webs("a c"), "a b c", id="domains enough"
        ),
        pytest.param(_WEB.spread(_ZONE, _APP, minDomains=3), _NODES, _webs("a c"), "", id="a domain too few"),
        pytest.param(
            _WEB.spread(_ZONE, _APP, minDomains=3),
            _NODES,
            _webs("a"),
            "c",
            id="a domain too few but one empty",
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP),
            [*_NODES, node("bare")],
            _webs("a"),
            "c",
            id="a node in no zone is not for it",
        ),
        pytest.param(
            _WEB.spread("nobody-has-it", _APP), _NODES, [], "", id="a label that no node has leaves none"
        ),
        # only "a" and "c" are both in a zone and on a disk: the pod on "b" is not counted
        pytest.param(
            _WEB.spread(_ZONE, _APP).spread("disk", _APP, maxSkew=9),
            [_A.label("disk", "d1"), _B, _C.label("disk", "d1")],
            _webs("b"),
            "a c",
            id="pods count only on nodes that have the labels of all constraints",
        ),
        # z3 is not for the pod, so it is no emptier zone to go to: z1 and z2 are level
        pytest.param(
            _IN_POOL.spread(_ZONE, _APP), _POOL, _webs("a c"), "a c d", id="nodes that are not for it"
        ),
        pytest.param(
            _IN_POOL.spread(_ZONE, _APP, nodeAffinityPolicy="Ignore"),
            _POOL,
            _webs("a c"),
            "d",
            id="unless node affinity is ignored",
        ),
        # z3 counts although nothing can go there
        pytest.param(_WEB.spread(_ZONE, _APP), _TAINTED, _webs("a c"), "d", id="taints are ignored"),
        pytest.param(
            _WEB.spread(_ZONE, _APP, nodeTaintsPolicy="Honor"),
            _TAINTED,
            _webs("a c"),
            "a c d",
            id="unless they are honoured",
        ),
        pytest.param(
            _WEB.spread(_ZONE, _APP, nodeTaintsPolicy="Honor").toleration(key="broken", operator="Exists"),
            _TAINTED,
            _webs("a c"),
            "d",
            id="and not tolerated",
        ),
        # z1 and z2 are two where three are wanted, so the least counts as 0
        pytest.param(
            _WEB.spread(_ZONE, _APP, nodeTaintsPolicy="Honor", minDomains=3),
            _TAINTED,
            _webs("a c"),
            "d",
            id="a tainted domain is none of the least number",
        ),
        pytest.param(
            _IN_POOL.spread(_ZONE, _APP),
            [_D],
            _webs("d d d"),
            "d",
            id="without an eligible node nothing is counted",
        ),
    ],
)
def test_eligible_nodes(
    wanted: PodBuilder, nodes: Sequence[NodeBuilder], placed: Sequence[PodBuilder], passing: str
) -> None:
    assert feasible(TopologySpread(), wanted, nodes, placed) == passing


def test_honoured_taints_may_be_compared() -> None:
    nodes = [_A, _C.taint("sla", "NoSchedule", "99")]
    wanted = _WEB.spread(_ZONE, _APP, nodeTaintsPolicy="Honor").toleration(
        key="sla", operator="Gt", value="95"
    )
    # With z2 open to the pod z1 has one too many; without it there is no other zone.
    assert feasible(TopologySpread(comparisons=True), wanted, nodes, _webs("a")) == "c"
    assert feasible(TopologySpread(), wanted, nodes, _webs("a")) == "a c"
