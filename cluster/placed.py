"""The pods that are on nodes, counted in groups of equals.

Rules that look at other pods look at groups: pods of one workload share labels, owner and anti-affinity, so
there are far fewer groups than pods.
"""

from collections.abc import Hashable, Mapping
from typing import Generic, NamedTuple, TypeVar

from cluster.constraints import HostPort
from cluster.groups import GroupIndex, PodGroup
from cluster.objects import Pod

_Key = TypeVar("_Key", bound=Hashable)


class Placed(NamedTuple):
    """How many pods of each group, and which host ports, are on which node, by its name."""

    groups: Mapping[PodGroup, Mapping[str, int]]
    ports: Mapping[HostPort, Mapping[str, int]]
    group_index: GroupIndex  # also knows groups that are not, or no longer, among `groups`


class PlacedPods:
    """The mutable side: what was handed out is copied before it is changed."""

    def __init__(self) -> None:
        self._groups: _Counts[PodGroup] = _Counts()
        self._ports: _Counts[HostPort] = _Counts()
        self._index = GroupIndex()
        self._frozen: Placed | None = None

    def freeze(self) -> Placed:
        if self._frozen is None:
            groups = self._groups.freeze()
            if self._index.worn_out(len(groups)):
                self._index = GroupIndex(groups)
            self._frozen = Placed(groups, self._ports.freeze(), self._index)
        return self._frozen

    def add(self, pod: Pod) -> None:
        group = group_of(pod)
        self._index.add(group)
        self._change(pod, group, 1)

    def remove(self, pod: Pod) -> None:
        self._change(pod, group_of(pod), -1)

    def _change(self, pod: Pod, group: PodGroup, by: int) -> None:
        self._frozen = None
        self._groups.change(group, pod.node_name, by)
        for port in pod.host_ports:
            self._ports.change(port, pod.node_name, by)


class _Counts(Generic[_Key]):
    """How many of each key are on each node; neither keys nor nodes of which there are none."""

    def __init__(self) -> None:
        self._counts: dict[_Key, dict[str, int]] = {}
        self._own: set[_Key] = set()  # changed since the last hand-out, so nobody else holds them

    def freeze(self) -> Mapping[_Key, Mapping[str, int]]:
        self._own.clear()
        return dict(self._counts)

    def change(self, key: _Key, node_name: str, by: int) -> None:
        counts = self._counts.get(key, {})
        if key not in self._own:
            counts = dict(counts)
            self._own.add(key)
        counts[node_name] = counts.get(node_name, 0) + by
        if not counts[node_name]:
            del counts[node_name]
        if counts:
            self._counts[key] = counts
        else:
            self._counts.pop(key, None)
            self._own.discard(key)


def group_of(pod: Pod) -> PodGroup:
    return PodGroup(
        namespace=pod.namespace,
        labels=tuple(sorted(pod.labels.items())),
        anti_affinity=pod.anti_affinity,
        owner_uid=pod.owner.uid if pod.owner else "",
        deleting=pod.deleting,
    )
