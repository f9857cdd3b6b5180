"""What a pod demands and prefers of where it runs, in a form that compares and hashes."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tradewind.cluster.interning import MAX_KEPT, InterningDecoder, is_kept
from tradewind.cluster.selectors import Selector, canonical, matches, selector_of
from tradewind.cluster.wire import (
    NULL,
    Affinity,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Port,
    PreferredNodeTerm,
    Requirement,
    SpreadConstraint,
)

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  Kubernetes' own default


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """Pods that match `selector` in these namespaces, seen in domains of the label `topology_key`."""

    topology_key: str
    selector: Selector | None
    namespaces: frozenset[str]
    namespace_selector: Selector | None

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        return matches(self.selector, labels) and (
            namespace in self.namespaces or matches(self.namespace_selector, namespace_labels)
        )


class WeightedPodTerm(msgspec.Struct, frozen=True, gc=False):
    """Preferred pod affinity; preferred anti-affinity has a negative weight."""

    weight: int
    term: PodTerm


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint."""

    topology_key: str
    max_skew: int
    selector: Selector | None
    min_domains: int
    honor_node_affinity: bool
    honor_taints: bool


class HostPort(msgspec.Struct, frozen=True, gc=False):
    address: str
    protocol: str
    port: int

    def conflicts(self, other: "HostPort") -> bool:
        return (self.protocol, self.port) == (other.protocol, other.port) and (
            self.address == other.address or _ANY_ADDRESS in {self.address, other.address}
        )


class AffinityTerms(NamedTuple):
    """An affinity, required and preferred."""

    node_terms: tuple[NodeSelectorTerm, ...] | None = None  # one of them must match; None asks for nothing
    pod_terms: tuple[PodTerm, ...] = ()
    anti_terms: tuple[PodTerm, ...] = ()
    preferred_nodes: tuple[PreferredNodeTerm, ...] = ()
    preferred_pods: tuple[WeightedPodTerm, ...] = ()


class Spreads(NamedTuple):
    required: tuple[Spread, ...] = ()  # DoNotSchedule
    preferred: tuple[Spread, ...] = ()  # ScheduleAnyway


_ANYWHERE = AffinityTerms()
_UNSPREAD = Spreads()
_NO_PORTS: frozenset[HostPort] = frozenset()
_read_affinity = InterningDecoder(Affinity, lambda affinity: affinity or Affinity(), "spec.affinity")
_read_constraints: InterningDecoder[tuple[SpreadConstraint, ...]] = InterningDecoder(
    tuple[SpreadConstraint, ...], lambda constraints: constraints or (), "spec.topologySpreadConstraints"
)


def read_affinity(part: msgspec.Raw, namespace: str, labels: Mapping[str, str]) -> AffinityTerms:
    """`labels` are those that matchLabelKeys and mismatchLabelKeys are still to be looked up in.

    The API server writes what they say into the selectors when it stores a pod, and nobody looks again: for a
    pod that it stored there are none, whatever labels the pod has since got.
    """
    if part is NULL:
        return _ANYWHERE
    key = bytes(part), namespace, tuple(labels.items())
    return _known_affinity_terms(*key) if is_kept(key) else _affinity_terms(*key)


def _affinity_terms(part: bytes, namespace: str, labels: tuple[tuple[str, str], ...]) -> AffinityTerms:
    affinity = _read_affinity(msgspec.Raw(part))
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    return AffinityTerms(
        _node_terms(affinity.node_affinity),
        _pod_terms(near, namespace, dict(labels)),
        _pod_terms(apart, namespace, dict(labels)),
        _preferred_nodes(affinity.node_affinity),
        (*_preferred_pods(near, namespace, labels, 1), *_preferred_pods(apart, namespace, labels, -1)),
    )


def _node_terms(affinity: NodeAffinity | None) -> tuple[NodeSelectorTerm, ...] | None:
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return None if required is None else required.node_selector_terms or ()


def _preferred_nodes(affinity: NodeAffinity | None) -> tuple[PreferredNodeTerm, ...]:
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
    return tuple(term for term in preferred or () if term.weight)


def _preferred_pods(
    affinity: PodAffinity | None, namespace: str, labels: Iterable[tuple[str, str]], sign: int
) -> Iterator[WeightedPodTerm]:
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else None
    for each in preferred or ():
        if each.weight:
            term = _pod_term(each.pod_affinity_term, namespace, dict(labels))
            yield WeightedPodTerm(sign * each.weight, term)


def _pod_terms(
    affinity: PodAffinity | None, namespace: str, labels: Mapping[str, str]
) -> tuple[PodTerm, ...]:
    terms = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return tuple(_pod_term(term, namespace, labels) for term in terms or ())


def _pod_term(term: PodAffinityTerm, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    namespaces = frozenset(term.namespaces or ())
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset({namespace})
    own = (
        *_label_keys("In", term.match_label_keys, labels),
        *_label_keys("NotIn", term.mismatch_label_keys, labels),
    )
    return PodTerm(
        topology_key=term.topology_key,
        selector=_narrowed(selector_of(term.label_selector), own),
        namespaces=namespaces,
        namespace_selector=selector_of(term.namespace_selector),
    )


def _label_keys(
    operator: str, keys: Iterable[str] | None, labels: Mapping[str, str]
) -> Iterator[Requirement]:
    return (Requirement(key, operator, (labels[key],)) for key in keys or () if key in labels)


def read_spreads(part: msgspec.Raw, labels: Mapping[str, str]) -> Spreads:
    if part is NULL:
        return _UNSPREAD
    key = bytes(part), tuple(labels.items())
    return _known_spreads(*key) if is_kept(key) else _spreads(*key)


def _spreads(part: bytes, labels: tuple[tuple[str, str], ...]) -> Spreads:
    constraints = _read_constraints(msgspec.Raw(part))

    def unsatisfiable(action: str) -> tuple[Spread, ...]:
        return tuple(_spread(each, dict(labels)) for each in constraints if each.when_unsatisfiable == action)

    return Spreads(unsatisfiable("DoNotSchedule"), unsatisfiable("ScheduleAnyway"))


def _spread(constraint: SpreadConstraint, labels: Mapping[str, str]) -> Spread:
    return Spread(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=_spread_selector(constraint, labels),
        min_domains=constraint.min_domains or 1,
        honor_node_affinity=constraint.node_affinity_policy != "Ignore",
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def _spread_selector(constraint: SpreadConstraint, labels: Mapping[str, str]) -> Selector | None:
    """With the pod's own labels of today, which kube-scheduler itself adds, also to what was stored."""
    own = _label_keys("In", constraint.match_label_keys, labels)
    return _narrowed(selector_of(constraint.label_selector), own)


def _narrowed(selector: Selector | None, own: Iterable[Requirement]) -> Selector | None:
    return None if selector is None else canonical((*selector, *own))


def host_ports(spec: PodSpec) -> frozenset[HostPort]:
    """Ports of the containers and of the sidecars; other init containers are gone by the time it matters."""
    ports = [port for each in spec.containers or () if each.ports for port in each.ports if port.host_port]
    for each in spec.init_containers or ():
        if each.restart_policy == "Always":
            ports += [port for port in each.ports or () if port.host_port]
    return frozenset(map(_host_port, ports)) if ports else _NO_PORTS


def _host_port(port: Port) -> HostPort:
    return HostPort(port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port or 0)


_known_affinity_terms = lru_cache(MAX_KEPT)(_affinity_terms)
_known_spreads = lru_cache(MAX_KEPT)(_spreads)
