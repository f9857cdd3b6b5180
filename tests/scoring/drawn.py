"""Clusters and pods that hypothesis draws, with every constraint there is.

Few names and values: what one pod asks for is often what another one is, and examples stay readable. Where a
constraint has many forms they are written down and one is drawn, which costs a single choice.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.builders import (
    NamespaceBuilder,
    NodeBuilder,
    PodBuilder,
    cluster_of,
    expression,
    namespace,
    node,
    pod,
)
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


def _joined(topology_key: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"topology_key": topology_key} | {key: value for part in parts for key, value in part.items()}


# How fast a machine draws says nothing about the rules.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_NAMESPACES = (
    namespace("shop").label("team", "red"),
    namespace("bank").label("team", "blue"),
    namespace("default"),
)

_cores = st.sampled_from(["0", "1", "4", "64"])
_memory = st.sampled_from(["0", "1Gi", "16Gi", "1Ti"])
_prices = st.sampled_from([None, 0.0, 0.01, 0.192, 3.06])
_effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
_topology_keys = st.sampled_from(["zone", "rack", "kubernetes.io/hostname", "nobody-has-it"])

_node_labels: st.SearchStrategy[dict[str, str]] = st.fixed_dictionaries(
    {},
    optional={
        "zone": st.sampled_from(["z1", "z2"]),
        "rack": st.sampled_from(["r1", "r2", "r3"]),
        "size": st.sampled_from(["1", "16", "064", "large"]),
    },
)
_pod_labels: st.SearchStrategy[dict[str, str]] = st.sampled_from(
    [
        {},
        {"app": "web"},
        {"app": "db", "rev": "1"},
        {"app": "web", "track": "canary", "rev": "1"},
        {"app": "db", "track": "stable", "rev": "2"},
    ]
)
_label_selectors: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"labelSelector": {"matchLabels": {"app": "web"}}},
        {"labelSelector": {"matchLabels": {"app": "db"}}},
        {"labelSelector": {"matchLabels": {"app": "web", "track": "canary"}}},
        {"labelSelector": {"matchExpressions": [expression("app", "In", "web", "db")]}},
        {"labelSelector": {"matchExpressions": [expression("app", "NotIn", "web")]}},
        {"labelSelector": {"matchExpressions": [expression("track", "Exists")]}},
        {"labelSelector": {"matchExpressions": [expression("track", "DoesNotExist")]}},
        {
            "labelSelector": {
                "matchLabels": {"app": "web"},
                "matchExpressions": [expression("track", "NotIn", "stable")],
            }
        },
        {"labelSelector": {}},
        {},
    ]
)
_namespace_choices: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"namespaces": ["shop"]},
        {"namespaces": ["shop", "bank"]},
        {"namespaceSelector": {}},
        {"namespaceSelector": {"matchLabels": {"team": "red"}}},
        {"namespaceSelector": {"matchExpressions": [expression("team", "NotIn", "red")]}},
        {"namespaceSelector": {"matchExpressions": [expression("team", "DoesNotExist")]}},
        {"namespaces": ["bank"], "namespaceSelector": {"matchExpressions": [expression("team", "Exists")]}},
        {"namespaces": [], "namespaceSelector": {"matchLabels": {"team": "green"}}},
    ]
)
# Of a label that no selector speaks of: the API refuses the others.
_label_keys: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {}, {}, {"matchLabelKeys": ["rev"]}, {"mismatchLabelKeys": ["rev"]}]
)
_pod_terms = st.builds(
    _joined,
    _topology_keys,
    _label_selectors,
    _namespace_choices,
    _label_keys,
)
_spreads = st.builds(
    _joined,
    _topology_keys,
    _label_selectors,
    st.sampled_from([{}, {}, {"matchLabelKeys": ["rev"]}]),
    st.sampled_from([{}, {}, {"maxSkew": 2}, {"minDomains": 3}, {"whenUnsatisfiable": "ScheduleAnyway"}]),
    st.sampled_from([{}, {"nodeAffinityPolicy": "Ignore"}, {"nodeAffinityPolicy": "Honor"}]),
    st.sampled_from([{}, {"nodeTaintsPolicy": "Ignore"}, {"nodeTaintsPolicy": "Honor"}]),
)
_crowd_spreads = st.builds(
    _joined,
    st.sampled_from(["zone", "rack", "kubernetes.io/hostname"]),
    st.sampled_from(
        [
            {"labelSelector": {"matchLabels": {"app": "web"}}},
            {"labelSelector": {"matchLabels": {"app": "db"}}},
            {"labelSelector": {"matchExpressions": [expression("app", "Exists")]}},
        ]
    ),
    st.sampled_from([{}, {"maxSkew": 2}]),
    st.sampled_from([{}, {"minDomains": 2}, {"minDomains": 3}]),
    st.sampled_from([{}, {"nodeAffinityPolicy": "Ignore"}]),
    st.sampled_from([{}, {"nodeTaintsPolicy": "Honor"}]),
)
_tolerations: st.SearchStrategy[dict[str, str]] = st.sampled_from(
    [
        {"operator": "Exists"},
        {"operator": "Exists", "effect": "NoExecute"},
        {"key": "dedicated", "operator": "Exists"},
        {"key": "dedicated", "value": "gpu"},
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"key": "dedicated", "operator": "Equal", "value": "05"},
        {"key": "dedicated", "operator": "Lt", "value": "6"},
        {"key": "dedicated", "operator": "Gt", "value": "-4"},
        {"key": "dedicated", "operator": "Gt", "value": "04"},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable"},
    ]
)
_node_expressions = st.sampled_from(
    [
        expression("zone", "In", "z1"),
        expression("rack", "NotIn", "r1", "r2"),
        expression("size", "Exists"),
        expression("rack", "DoesNotExist"),
        expression("size", "Gt", "1"),
        expression("size", "Lt", "064"),
        expression("size", "Gt", "many"),
        expression("size", "Lt", "9223372036854775808"),
    ]
)
_name_fields = st.sampled_from(
    [expression("metadata.name", "In", "n0"), expression("metadata.name", "NotIn", "n1")]
)
_ports = st.builds(
    lambda port, protocol, address: (port, protocol, address),
    st.sampled_from([80, 443]),
    st.sampled_from(["TCP", "UDP"]),
    st.sampled_from(["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]),  # noqa: S104
)


class Case(NamedTuple):
    """As builders, because a naive evaluation reads the API's JSON and not what we made of it."""

    wanted: PodBuilder
    nodes: Sequence[NodeBuilder]
    placed: Sequence[PodBuilder]
    namespaces: Sequence[NamespaceBuilder] = _NAMESPACES

    def build(self) -> tuple[Pod, Nodes]:
        return self.wanted.build(), cluster_of(self.nodes, self.placed, self.namespaces).nodes


@st.composite
def cases(draw: st.DrawFn) -> Case:
    nodes = [draw(_nodes(f"n{index}")) for index in range(draw(st.integers(1, 4)))]
    places = st.sampled_from([each.document["metadata"]["name"] for each in nodes] + ["gone"])
    placed = [draw(_placed(index)).on(draw(places)) for index in range(draw(st.integers(0, 4)))]
    return Case(draw(_waiting()), nodes, placed)


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    drawn = node(name).cpu(draw(_cores)).memory(draw(_memory)).pods(draw(st.integers(0, 3)))
    for key, value in draw(_node_labels).items():
        drawn = drawn.label(key, value)
    gpus, price = draw(st.sampled_from([None, 0, 2])), draw(_prices)
    drawn = drawn if gpus is None else drawn.resource("example.com/gpu", gpus)
    tainted = draw(st.sampled_from([None, None, "", "gpu", "5", "05"]))
    drawn = drawn if tainted is None else drawn.taint("dedicated", draw(_effects), tainted)
    drawn = drawn.unschedulable() if draw(st.sampled_from([False, False, False, True])) else drawn
    return drawn if price is None else drawn.price(price)


@st.composite
def _pods(draw: st.DrawFn, name: str) -> PodBuilder:
    gpus = draw(st.sampled_from([{}, {"example.com/gpu": "1"}]))
    drawn = pod(name).requests({"cpu": draw(_cores), "memory": draw(_memory)} | gpus)
    drawn = drawn.namespace(draw(st.sampled_from(["default", "shop", "bank"])))
    for key, value in draw(_pod_labels).items():
        drawn = drawn.label(key, value)
    for term in draw(st.lists(_pod_terms, max_size=2)):
        drawn = drawn.anti_affinity(**term)
    for port in draw(st.lists(_ports, max_size=1)):
        drawn = drawn.host_port(*port)
    return drawn


@st.composite
def _placed(draw: st.DrawFn, index: int) -> PodBuilder:
    drawn = draw(_pods(f"placed-{index}"))
    state = draw(st.sampled_from(["Running", "Running", "Running", "Succeeded", "deleting"]))
    return drawn.phase("Running").deleting() if state == "deleting" else drawn.phase(state)


@st.composite
def _waiting(draw: st.DrawFn) -> PodBuilder:
    drawn = draw(_pods("wanted"))
    for term in draw(st.lists(_pod_terms, max_size=2)):
        drawn = drawn.affinity(**term)
    for constraint in draw(st.lists(_spreads, max_size=2)):
        drawn = drawn.spread(**constraint)
    for toleration in draw(st.lists(_tolerations, max_size=2)):
        drawn = drawn.toleration(**toleration)
    for _ in range(draw(st.integers(0, 2))):
        expressions = draw(st.lists(_node_expressions, max_size=2))
        drawn = drawn.node_term(*expressions, fields=draw(st.lists(_name_fields, max_size=2)))
    zone = draw(st.sampled_from([None, None, None, "z1", "z2"]))
    return drawn if zone is None else drawn.node_selector("zone", zone)


@st.composite
def crowded_cases(draw: st.DrawFn) -> Case:
    """Many pods of few kinds in few domains, and a pod that wants them spread."""
    labels = st.fixed_dictionaries(
        {"zone": st.sampled_from(["z1", "z2", "z3", ""]), "rack": st.sampled_from(["r1", "r2", ""])}
    )
    nodes = []
    for index in range(draw(st.integers(2, 5))):
        each = node(f"n{index}")
        for key, value in draw(labels).items():
            each = each.label(key, value) if value else each
        nodes.append(draw(st.sampled_from([each, each, each.taint("dedicated"), each.label("pool", "x")])))
    kinds = [
        pod("p").label("app", "web"),
        pod("p").label("app", "db"),
        pod("p").label("app", "web").deleting(),
    ]
    pairs = st.tuples(st.sampled_from(range(len(nodes))), st.sampled_from(kinds))
    placed = [
        kind.uid(f"u{i}").on(f"n{row}") for i, (row, kind) in enumerate(draw(st.lists(pairs, max_size=12)))
    ]
    wanted = draw(
        st.sampled_from([kinds[0], kinds[0].node_selector("pool", "x"), kinds[0].toleration(key="dedicated")])
    )
    for constraint in draw(st.lists(_crowd_spreads, min_size=1, max_size=2)):
        wanted = wanted.spread(**constraint)
    return Case(wanted, nodes, placed)
