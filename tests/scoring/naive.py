"""The rules that kube-scheduler has too, as Kubernetes' documentation defines them: node by node, pod by pod.

Slow, short, and made of nothing of ours: everything is read from the API's JSON.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class World:
    nodes: Sequence[Object]
    pods: Sequence[Object]
    namespaces: Mapping[str, Mapping[str, str]]  # name to labels
    comparisons: bool = False

    def placed(self) -> Iterator[tuple[Object, Object]]:
        """Pods that hold something, each with its node."""
        by_name = {node["metadata"]["name"]: node for node in self.nodes}
        for pod in self.pods:
            if pod["status"]["phase"] not in {"Succeeded", "Failed"} and pod["spec"]["nodeName"] in by_name:
                yield pod, by_name[pod["spec"]["nodeName"]]


def unschedulable(world: World, pod: Object, node: Object) -> bool:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return not node["spec"].get("unschedulable") or _tolerated(world, pod, taint)


def taints(world: World, pod: Object, node: Object) -> bool:
    forbidding = [t for t in node["spec"].get("taints", []) if t["effect"] in {"NoSchedule", "NoExecute"}]
    return all(_tolerated(world, pod, taint) for taint in forbidding)


def node_affinity(_: World, pod: Object, node: Object) -> bool:
    labels = _labels(node)
    if any(labels.get(key) != value for key, value in pod["spec"].get("nodeSelector", {}).items()):
        return False
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity")
    return affinity is None or any(_node_term(t, node) for t in affinity[_REQUIRED]["nodeSelectorTerms"])


def host_ports(world: World, pod: Object, node: Object) -> bool:
    taken = [port for other, place in world.placed() if place is node for port in _ports(other)]
    return not any(_conflict(wanted, port) for wanted in _ports(pod) for port in taken)


def topology_spread(world: World, pod: Object, node: Object) -> bool:
    constraints = [
        each
        for each in pod["spec"].get("topologySpreadConstraints", [])
        if each["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    keys = [each["topologyKey"] for each in constraints]
    return all(_spread(world, pod, node, each, keys) for each in constraints)


def pod_affinity(world: World, pod: Object, node: Object) -> bool:
    terms = _terms(pod, "podAffinity")
    if any(term["topologyKey"] not in _labels(node) for term in terms):
        return False
    others = [place for other, place in world.placed() if all(_meant(world, t, pod, other) for t in terms)]
    if all(any(_together(term, node, place) for place in others) for term in terms):
        return True
    in_no_domain = not any(term["topologyKey"] in _labels(place) for place in others for term in terms)
    return in_no_domain and all(_meant(world, term, pod, pod) for term in terms)


def pod_anti_affinity(world: World, pod: Object, node: Object) -> bool:
    return not any(
        _together(term, node, place) and _meant(world, term, owner, target)
        for other, place in world.placed()
        for owner, target in ((pod, other), (other, pod))
        for term in _terms(owner, "podAntiAffinity")
    )


RULES: Mapping[str, Callable[[World, Object, Object], bool]] = {
    rule.__name__: rule
    for rule in (
        unschedulable,
        taints,
        node_affinity,
        host_ports,
        topology_spread,
        pod_affinity,
        pod_anti_affinity,
    )
}


def _labels(thing: Object) -> Mapping[str, str]:
    return thing["metadata"].get("labels", {})  # type: ignore[no-any-return]  # JSON


def _selected(selector: Object | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    exact = [{"key": k, "operator": "In", "values": [v]} for k, v in selector.get("matchLabels", {}).items()]
    return all(_holds(each, labels) for each in [*exact, *selector.get("matchExpressions", [])])


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", [])
    return {
        "In": lambda: labels.get(key) in values,
        "NotIn": lambda: labels.get(key) not in values,
        "Exists": lambda: key in labels,
        "DoesNotExist": lambda: key not in labels,
        "Gt": lambda: _less(values[0], labels.get(key, "")),
        "Lt": lambda: _less(labels.get(key, ""), values[0]),
    }[expression["operator"]]()


def _less(small: str, large: str) -> bool:
    numbers = [int(text) for text in (small, large) if re.fullmatch("[-+]?[0-9]+", text)]
    return len(numbers) == 2 and all(number in _INT64 for number in numbers) and numbers[0] < numbers[1]


def _node_term(term: Object, node: Object) -> bool:
    names = {"metadata.name": node["metadata"]["name"]}
    fields, expressions = term.get("matchFields", []), term.get("matchExpressions", [])
    return bool(fields or expressions) and (
        all(_holds(each, names) for each in fields)
        and all(_holds(each, _labels(node)) for each in expressions)
    )


def _tolerated(world: World, pod: Object, taint: Object) -> bool:
    return any(_tolerates(world, each, taint) for each in pod["spec"].get("tolerations", []))


def _tolerates(world: World, toleration: Object, taint: Object) -> bool:
    if any(toleration.get(each) and toleration[each] != taint[each] for each in ("key", "effect")):
        return False
    asked, given = toleration.get("value", ""), taint.get("value", "")
    canonical = all(re.fullmatch("0|-?[1-9][0-9]*", text) for text in (asked, given))
    verdicts: dict[str, bool] = {
        "Exists": True,
        "Equal": asked == given,
        "Lt": world.comparisons and canonical and _less(given, asked),
        "Gt": world.comparisons and canonical and _less(asked, given),
    }
    return verdicts[toleration.get("operator", "Equal")]


def _ports(pod: Object) -> list[Object]:
    return [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]


def _conflict(one: Object, other: Object) -> bool:
    addresses = {port.get("hostIP", "0.0.0.0") for port in (one, other)}  # noqa: S104
    same = (one["protocol"], one["hostPort"]) == (other["protocol"], other["hostPort"])
    return same and (len(addresses) == 1 or "0.0.0.0" in addresses)  # noqa: S104


def _terms(pod: Object, kind: str) -> list[Object]:
    return pod["spec"].get("affinity", {}).get(kind, {}).get(_REQUIRED, [])  # type: ignore[no-any-return]


def _meant(world: World, term: Object, owner: Object, target: Object) -> bool:
    """Whether the term of the owner speaks of the target."""
    namespace, names = target["metadata"]["namespace"], term.get("namespaces", [])
    if not names and "namespaceSelector" not in term:
        names = [owner["metadata"]["namespace"]]
    if namespace not in names and not _selected(term.get("namespaceSelector"), world.namespaces[namespace]):
        return False
    selector = _with_keys(term, "matchLabelKeys", "In", owner)
    return _selected(selector, _labels(target)) and _selected(
        _with_keys(term, "mismatchLabelKeys", "NotIn", owner), _labels(target)
    )


def _with_keys(term: Object, field: str, operator: str, owner: Object) -> Object | None:
    selector = term.get("labelSelector")
    if selector is None:
        return None
    own = [
        {"key": key, "operator": operator, "values": [_labels(owner)[key]]}
        for key in term.get(field, [])
        if key in _labels(owner)
    ]
    return {**selector, "matchExpressions": [*selector.get("matchExpressions", []), *own]}


def _together(term: Object, one: Object, other: Object) -> bool:
    key = term["topologyKey"]
    return key in _labels(one) and _labels(one)[key] == _labels(other).get(key)


def _spread(world: World, pod: Object, node: Object, constraint: Object, keys: Sequence[str]) -> bool:
    key, selector = constraint["topologyKey"], _with_keys(constraint, "matchLabelKeys", "In", pod)
    if key not in _labels(node):
        return False
    domains = {
        _labels(place)[key]: 0 for place in world.nodes if _eligible(world, pod, place, constraint, keys)
    }
    for other, place in world.placed():
        if _eligible(world, pod, place, constraint, keys) and _counts(selector, pod, other):
            domains[_labels(place)[key]] += 1
    least = min(domains.values(), default=0) if len(domains) >= constraint.get("minDomains", 1) else 0
    itself = _selected(selector, _labels(pod))
    return domains.get(_labels(node)[key], 0) + itself - least <= constraint["maxSkew"]  # type: ignore[no-any-return]


def _eligible(world: World, pod: Object, node: Object, constraint: Object, keys: Sequence[str]) -> bool:
    if any(key not in _labels(node) for key in keys):
        return False
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not node_affinity(world, pod, node):
        return False
    return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or taints(world, pod, node)


def _counts(selector: Object | None, pod: Object, other: Object) -> bool:
    asked = selector is not None and any(selector.get(part) for part in ("matchLabels", "matchExpressions"))
    return (
        asked
        and "deletionTimestamp" not in other["metadata"]
        and other["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and _selected(selector, _labels(other))
    )
