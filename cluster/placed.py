"""The pods that are on nodes, counted in groups of equals.

Rules that look at other pods look at groups: pods of one workload share labels, owner and anti-affinity, so
there are far fewer groups than pods.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec

from cluster.constraints import HostPort, PodTerm
from cluster.objects import Pod

_Key = TypeVar("_Key")


class PodGroup(msgspec.Struct, frozen=True):
    namespace: str
    labels: tuple[tuple[str, str], ...]
    anti_affinity: tuple[PodTerm, ...]
    owner_uid: str
    deleting: bool


class Placed(NamedTuple):
    """How many pods of each group are on which node, by name, and which host ports are taken there."""

    groups: Mapping[PodGroup, Mapping[str, int]]
    ports: Mapping[str, Mapping[HostPort, int]]


class PlacedPods:
    """The mutable side: what was handed out is copied before it is changed."""

    def __init__(self) -> None:
        self._groups: dict[PodGroup, dict[str, int]] = {}
        self._ports: dict[str, dict[HostPort, int]] = {}
        self._own: set[PodGroup] = set()  # changed since the last hand-out, so nobody else holds them
        self._frozen: Placed | None = None

    def freeze(self) -> Placed:
        if self._frozen is None:
            self._own.clear()
            self._frozen = Placed(dict(self._groups), dict(self._ports))
        return self._frozen

    def add(self, pod: Pod) -> None:
        self._change(pod, 1)

    def remove(self, pod: Pod) -> None:
        self._change(pod, -1)

    def _change(self, pod: Pod, by: int) -> None:
        self._frozen = None
        group = group_of(pod)
        counts = self._groups.get(group, {})
        if group not in self._own:
            counts = dict(counts)
            self._own.add(group)
        _change(counts, pod.node_name, by)
        if counts:
            self._groups[group] = counts
        else:
            self._groups.pop(group, None)
            self._own.discard(group)
        if pod.host_ports:
            self._change_ports(pod, by)

    def _change_ports(self, pod: Pod, by: int) -> None:
        ports = dict(self._ports.pop(pod.node_name, {}))
        for port in pod.host_ports:
            _change(ports, port, by)
        if ports:
            self._ports[pod.node_name] = ports


def _change(counts: dict[_Key, int], key: _Key, by: int) -> None:
    counts[key] = counts.get(key, 0) + by
    if not counts[key]:
        del counts[key]


def group_of(pod: Pod) -> PodGroup:
    return PodGroup(
        namespace=pod.namespace,
        labels=tuple(sorted(pod.labels.items())),
        anti_affinity=pod.anti_affinity,
        owner_uid=pod.owner.uid if pod.owner else "",
        deleting=pod.deleting,
    )
