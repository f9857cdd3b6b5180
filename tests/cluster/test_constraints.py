"""What the API's JSON says a pod demands, as values that compare; what they mean is tested with the rules."""

import pytest

from tests.builders import PodBuilder, expression, pod
from tradewind.cluster.constraints import HostPort, PodTerm, Spread
from tradewind.cluster.wire import Requirement

_WEB = pod("web").namespace("shop").label("app", "web").label("rev", "2")
_STORED = _WEB.field("metadata", "creationTimestamp", value="2026-01-01T00:00:00Z")
_APP, _REV = Requirement("app", "In", ("web",)), Requirement("rev", "In", ("2",))
_ALL = "0.0.0.0"  # noqa: S104


def _term(**fields: object) -> PodTerm:
    defaults = {"topology_key": "zone", "selector": (_APP,), "namespaces": frozenset({"shop"})}
    return PodTerm(**{"namespace_selector": None, **defaults, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("built", "term"),
    [
        pytest.param(_WEB.affinity("zone", {"app": "web"}), _term(), id="the pod's own namespace"),
        pytest.param(
            _WEB.affinity("zone", {"app": "web"}, namespaces=["a", "b"]),
            _term(namespaces=frozenset({"a", "b"})),
            id="other namespaces",
        ),
        pytest.param(
            _WEB.affinity("zone", {"app": "web"}, namespaceSelector={}),
            _term(namespaces=frozenset(), namespace_selector=()),
            id="all namespaces",
        ),
        pytest.param(
            _WEB.affinity("zone", {"app": "web"}, namespaces=None, namespaceSelector=None),
            _term(),
            id="nulls",
        ),
        pytest.param(_WEB.affinity("zone"), _term(selector=None), id="no selector"),
        pytest.param(_WEB.affinity("zone", labelSelector={}), _term(selector=()), id="an empty selector"),
        pytest.param(
            _WEB.affinity("zone", {"app": "web"}, matchLabelKeys=["rev", "no-such-label"]),
            _term(selector=(_APP, _REV)),
            id="a label of its own that the file has not yet merged",
        ),
        pytest.param(
            _STORED.affinity(
                "zone",
                labelSelector={
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [expression("rev", "In", "2")],
                },
                matchLabelKeys=["rev"],
            ),
            _term(selector=(_APP, _REV)),
            id="one that the API server has merged",
        ),
        # Seen on kube-scheduler 1.36.3: nobody merges a label that changed or came later.
        pytest.param(
            _STORED.affinity(
                "zone",
                labelSelector={
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [expression("rev", "In", "1")],
                },
                matchLabelKeys=["rev"],
            ),
            _term(selector=(_APP, Requirement("rev", "In", ("1",)))),
            id="one that has changed since the API server merged it",
        ),
        pytest.param(
            _STORED.affinity("zone", {"app": "web"}, matchLabelKeys=["rev"], mismatchLabelKeys=["app"]),
            _term(),
            id="one that the pod did not have when the API server looked",
        ),
        pytest.param(
            _WEB.affinity("zone", {"app": "web"}, mismatchLabelKeys=["rev"]),
            _term(selector=(_APP, Requirement("rev", "NotIn", ("2",)))),
            id="a label that must be another",
        ),
        pytest.param(
            _WEB.affinity("zone", matchLabelKeys=["rev"]), _term(selector=None), id="no selector stays none"
        ),
    ],
)
def test_pod_terms(built: PodBuilder, term: PodTerm) -> None:
    assert built.build().affinity == (term,)
    repelled = built.field(
        "spec", "affinity", "podAntiAffinity", value=built.document["spec"]["affinity"]["podAffinity"]
    )
    assert repelled.build().anti_affinity == (term,)


def _spread(**fields: object) -> Spread:
    defaults = {"topology_key": "zone", "max_skew": 1, "selector": (_APP,), "min_domains": 1}
    policies = {"honor_node_affinity": True, "honor_taints": False}
    return Spread(**{**defaults, **policies, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("built", "spread"),
    [
        pytest.param(_WEB.spread("zone", {"app": "web"}), _spread(), id="defaults"),
        pytest.param(
            _WEB.spread(
                "zone", {"app": "web"}, minDomains=None, nodeAffinityPolicy=None, nodeTaintsPolicy=None
            ),
            _spread(),
            id="nulls",
        ),
        pytest.param(
            _WEB.spread("zone", {"app": "web"}, maxSkew=3, minDomains=2),
            _spread(max_skew=3, min_domains=2),
            id="numbers",
        ),
        pytest.param(
            _WEB.spread("zone", {"app": "web"}, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"),
            _spread(honor_node_affinity=False, honor_taints=True),
            id="policies",
        ),
        pytest.param(
            _WEB.spread("zone", {"app": "web"}, matchLabelKeys=["rev"]),
            _spread(selector=(_APP, _REV)),
            id="a label of its own",
        ),
        # Seen on kube-scheduler 1.36.3: unlike for affinity it adds today's label to what was stored.
        pytest.param(
            _STORED.spread(
                "zone",
                labelSelector={
                    "matchLabels": {"app": "web"},
                    "matchExpressions": [expression("rev", "In", "1")],
                },
                matchLabelKeys=["rev"],
            ),
            _spread(selector=(_APP, Requirement("rev", "In", ("1",)), _REV)),
            id="a label that has changed since the API server merged it",
        ),
    ],
)
def test_spreads(built: PodBuilder, spread: Spread) -> None:
    assert built.build().spreads == (spread,)


def test_mere_wishes_are_left_out() -> None:
    wish = _WEB.spread("zone", {"app": "web"}, whenUnsatisfiable="ScheduleAnyway")
    assert wish.build().spreads == ()


@pytest.mark.parametrize(
    ("built", "ports"),
    [
        pytest.param(_WEB, set(), id="no port"),
        pytest.param(_WEB.host_port(80), {HostPort(_ALL, "TCP", 80)}, id="all addresses by default"),
        pytest.param(
            _WEB.field("spec", "containers", 0, "ports", value=[{"hostPort": 80}, {"containerPort": 81}]),
            {HostPort(_ALL, "TCP", 80)},
            id="TCP by default, and none without a host port",
        ),
        pytest.param(
            _WEB.host_port(53, "UDP", "10.0.0.1").host_port(53, "TCP", "10.0.0.1"),
            {HostPort("10.0.0.1", "UDP", 53), HostPort("10.0.0.1", "TCP", 53)},
            id="two protocols",
        ),
    ],
)
def test_host_ports(built: PodBuilder, ports: set[HostPort]) -> None:
    assert built.build().host_ports == ports


def test_pod_without_any_demand() -> None:
    bare = pod("bare").build()
    assert bare.node_terms is None
    assert (bare.affinity, bare.anti_affinity, bare.spreads, bare.tolerations) == ((), (), (), ())
