"""Random constraints of pods: every operator, policy and odd form that the API lets through.

Few names and values, so that what one pod asks for is often what another one is.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from e2e.objects import Object

ZONE, RACK, HOSTNAME = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
NODE_LABELS = {
    ZONE: ("z1", "z2", "z3"),
    RACK: ("r1", "r2", "r3", "r4", "r5"),
    "pool": ("spot", "durable"),
    "size": ("1", "4", "16", "064", "large"),
}
NAMESPACE_LABELS = {"team": ("red", "blue"), "env": ("prod", "test")}

_POD_LABELS = {"app": ("web", "db"), "tier": ("front", "back"), "track": ("stable", "canary")}
_TOPOLOGY_KEYS = (ZONE, ZONE, RACK, RACK, HOSTNAME, "example.com/nobody-has-it")
_TAINTS = {"dedicated": ("gpu", "batch"), "example.com/flaky": ("",)}
_COMPARED = ("95", "99", "099", "high")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def some_of(rng: Random, chances: Mapping[str, tuple[float, Callable[[], Any]]]) -> Object:
    """Each field with its own chance to be there."""
    return {name: make() for name, (chance, make) in chances.items() if rng.random() < chance}


def pod_labels(rng: Random) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in _POD_LABELS.items() if rng.random() < 0.8}


def node_labels(rng: Random) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in NODE_LABELS.items() if rng.random() < 0.85}


def taints(rng: Random, *, comparisons: bool) -> list[Object]:
    """With `comparisons` most of them are there to be compared."""
    if comparisons and rng.random() < 0.8:
        return [{"key": "sla", "value": rng.choice(_COMPARED), "effect": rng.choice(_EFFECTS)}]
    keys = rng.sample(sorted(_TAINTS), rng.randint(1, len(_TAINTS)))
    return [{"key": key, "value": rng.choice(_TAINTS[key]), "effect": rng.choice(_EFFECTS)} for key in keys]


def tolerations(rng: Random, *, comparisons: bool) -> list[Object]:
    """With `comparisons` also operators that the API refuses unless a gate is open."""
    if comparisons:
        return [_comparison(rng) for _ in range(rng.randint(1, 2))]
    return [_toleration(rng) for _ in range(rng.randint(1, 3))]


def _comparison(rng: Random) -> Object:
    return {
        "key": rng.choice(["sla", "sla", "sla", "dedicated"]),
        "operator": rng.choice(["Lt", "Gt"]),
        "value": rng.choice(["-1", "95", "96", "100"]),
        **some_of(rng, {"effect": (0.3, lambda: rng.choice(_EFFECTS))}),
    }


def _toleration(rng: Random) -> Object:
    if rng.random() < 0.1:
        return {"operator": "Exists"}
    effect = {"effect": rng.choice(_EFFECTS)} if rng.random() < 0.5 else {}
    key = rng.choice([*_TAINTS, _UNSCHEDULABLE])
    if rng.random() < 0.4:
        return {"key": key, "operator": "Exists", **effect}
    operator = {"operator": "Equal"} if rng.random() < 0.5 else {}
    return {"key": key, "value": rng.choice(_TAINTS.get(key, ("", "true"))), **operator, **effect}


def node_selector(rng: Random) -> dict[str, str]:
    key = rng.choice(sorted(NODE_LABELS))
    return {key: rng.choice(NODE_LABELS[key])}


def node_affinity(rng: Random, names: Sequence[str]) -> Object:
    terms = [_node_term(rng, names) for _ in range(rng.randint(1, 3))]
    return {_REQUIRED: {"nodeSelectorTerms": terms}}


def _node_term(rng: Random, names: Sequence[str]) -> Object:
    """Now and then an empty one, which matches nothing."""
    return some_of(
        rng,
        {
            "matchExpressions": (0.85, lambda: [_node_expression(rng) for _ in range(rng.randint(1, 2))]),
            "matchFields": (0.25, lambda: [_name_field(rng, names) for _ in range(rng.randint(1, 2))]),
        },
    )


def _node_expression(rng: Random) -> Object:
    key = rng.choice(sorted(NODE_LABELS))
    operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in {"Gt", "Lt"}:
        bound = rng.choice(["0", "4", "15", "0100", "many"])
        return {"key": rng.choice(["size", "size", key]), "operator": operator, "values": [bound]}
    return _expression(rng, key, operator, NODE_LABELS[key])


def _name_field(rng: Random, names: Sequence[str]) -> Object:
    values = [rng.choice([*names, "nobody"])]
    return {"key": "metadata.name", "operator": rng.choice(["In", "NotIn", "NotIn"]), "values": values}


def _expression(rng: Random, key: str, operator: str, values: Sequence[str]) -> Object:
    if operator in {"Exists", "DoesNotExist"}:
        return {"key": key, "operator": operator}
    return {"key": key, "operator": operator, "values": rng.sample(values, rng.randint(1, len(values) - 1))}


def _selector(rng: Random, labels: Mapping[str, Sequence[str]]) -> Object:
    """An empty one among them, which matches everything."""

    def exact() -> Object:
        key = rng.choice(sorted(labels))
        return {key: rng.choice(labels[key])}

    def expressions() -> list[Object]:
        keys = rng.sample(sorted(labels), rng.randint(1, len(labels) - 1))
        operators = ["In", "NotIn", "Exists", "DoesNotExist"]
        return [_expression(rng, key, rng.choice(operators), labels[key]) for key in keys]

    return some_of(rng, {"matchLabels": (0.6, exact), "matchExpressions": (0.4, expressions)})


def pod_affinity(rng: Random, namespaces: Sequence[str]) -> Object:
    terms = [_pod_term(rng, namespaces) for _ in range(rng.choice([1, 1, 2]))]
    return {_REQUIRED: terms}


def _pod_term(rng: Random, namespaces: Sequence[str]) -> Object:
    term = some_of(
        rng,
        {
            "labelSelector": (0.95, lambda: _selector(rng, _POD_LABELS)),
            "namespaces": (0.25, lambda: rng.sample(namespaces, rng.randint(1, 2))),
            "namespaceSelector": (0.3, lambda: _selector(rng, NAMESPACE_LABELS)),
        },
    )
    keys = _label_keys(rng, term.get("labelSelector"), ("matchLabelKeys", "mismatchLabelKeys"))
    return {"topologyKey": rng.choice(_TOPOLOGY_KEYS), **term, **keys}


def _label_keys(rng: Random, selector: Object | None, fields: Sequence[str]) -> Object:
    """Only keys that the selector does not speak of, and none without one: the API refuses those."""
    if selector is None:
        return {}
    spoken_of = {each["key"] for each in selector.get("matchExpressions", ())}
    left = sorted(_POD_LABELS.keys() - selector.get("matchLabels", {}).keys() - spoken_of)
    rng.shuffle(left)
    return {field: [key] for field, key in zip(fields, left, strict=False) if rng.random() < 0.35}


def spread_constraints(rng: Random) -> list[Object]:
    keys = rng.sample(sorted(set(_TOPOLOGY_KEYS)), 4)
    wanted = rng.choice([1, 1, 2])
    return [_spread_constraint(rng, key) for key in keys if key in NODE_LABELS or rng.random() < 0.3][:wanted]


def _spread_constraint(rng: Random, key: str) -> Object:
    action = rng.choice(["DoNotSchedule"] * 6 + ["ScheduleAnyway"])
    fields = some_of(
        rng,
        {
            "labelSelector": (0.95, lambda: _spread_selector(rng)),
            "nodeAffinityPolicy": (0.4, lambda: rng.choice(["Honor", "Ignore"])),
            "nodeTaintsPolicy": (0.4, lambda: rng.choice(["Honor", "Ignore"])),
        },
    )
    if action == "DoNotSchedule" and rng.random() < 0.3:
        fields["minDomains"] = rng.randint(1, 5)
    fields |= _label_keys(rng, fields.get("labelSelector"), ("matchLabelKeys",))
    return {"topologyKey": key, "maxSkew": rng.choice([1, 1, 2, 3]), "whenUnsatisfiable": action, **fields}


def _spread_selector(rng: Random) -> Object:
    """Mostly of one label, so that enough pods match for the domains to differ."""
    app = {"matchLabels": {"app": rng.choice(_POD_LABELS["app"])}}
    return app if rng.random() < 0.6 else _selector(rng, _POD_LABELS)


def host_ports(rng: Random) -> list[Object]:
    """Different numbers, because the API refuses a pod that is in its own way."""
    numbers = rng.sample([80, 443], rng.choice([1, 1, 2]))
    return [_host_port(rng, number) for number in numbers]


def _host_port(rng: Random, number: int) -> Object:
    fields = some_of(
        rng,
        {
            "hostIP": (0.5, lambda: rng.choice(["0.0.0.0", "10.0.0.1", "127.0.0.1", "::"])),  # noqa: S104
            "protocol": (0.5, lambda: rng.choice(["TCP", "UDP"])),
        },
    )
    return {"containerPort": number, "hostPort": number, **fields}
