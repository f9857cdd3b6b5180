"""What a pod demands of where it runs, in a form that compares and hashes: equal demands, equal values."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from tradewind.cluster.selectors import Selector, canonical, matches, selector_of
from tradewind.cluster.shared import MOST_KEPT, Shared
from tradewind.cluster.wire import (
    NULL,
    Affinity,
    NodeAffinity,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    Port,
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


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint that must hold; those that are mere wishes are left out."""

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


class Placement(NamedTuple):
    """The required terms of an affinity."""

    node_terms: tuple[NodeSelectorTerm, ...] | None = None  # one of them must match; None asks for nothing
    pod_terms: tuple[PodTerm, ...] = ()
    anti_terms: tuple[PodTerm, ...] = ()


_ANYWHERE = Placement()
_NO_PORTS: frozenset[HostPort] = frozenset()
_read_affinity = Shared(Affinity, lambda affinity: affinity or Affinity(), "spec.affinity")
_read_constraints: Shared[tuple[SpreadConstraint, ...]] = Shared(
    tuple[SpreadConstraint, ...], lambda constraints: constraints or (), "spec.topologySpreadConstraints"
)


def read_affinity(part: msgspec.Raw, namespace: str, labels: Mapping[str, str]) -> Placement:
    """`labels` are those that matchLabelKeys and mismatchLabelKeys are still to be looked up in.

    The API server writes what they say into the selectors when it stores a pod, and nobody looks again: for a
    pod that it stored there are none, whatever labels the pod has since got.
    """
    return _ANYWHERE if part is NULL else _placement(bytes(part), namespace, tuple(labels.items()))


@lru_cache(MOST_KEPT)
def _placement(part: bytes, namespace: str, labels: tuple[tuple[str, str], ...]) -> Placement:
    affinity = _read_affinity(msgspec.Raw(part))
    return Placement(
        _node_terms(affinity.node_affinity),
        _pod_terms(affinity.pod_affinity, namespace, dict(labels)),
        _pod_terms(affinity.pod_anti_affinity, namespace, dict(labels)),
    )


def _node_terms(affinity: NodeAffinity | None) -> tuple[NodeSelectorTerm, ...] | None:
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return None if required is None else required.node_selector_terms or ()


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


def read_spreads(part: msgspec.Raw, labels: Mapping[str, str]) -> tuple[Spread, ...]:
    return () if part is NULL else _spreads(bytes(part), tuple(labels.items()))


@lru_cache(MOST_KEPT)
def _spreads(part: bytes, labels: tuple[tuple[str, str], ...]) -> tuple[Spread, ...]:
    return tuple(
        Spread(
            topology_key=each.topology_key,
            max_skew=each.max_skew,
            selector=_spread_selector(each, dict(labels)),
            min_domains=each.min_domains or 1,
            honor_node_affinity=each.node_affinity_policy != "Ignore",
            honor_taints=each.node_taints_policy == "Honor",
        )
        for each in _read_constraints(msgspec.Raw(part))
        if each.when_unsatisfiable == "DoNotSchedule"
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
