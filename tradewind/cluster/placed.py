"""The pods that are on nodes, counted in groups of equals.

Rules that look at other pods look at groups: pods of one workload share labels, owner and anti-affinity, so
there are far fewer groups than pods.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, NamedTuple, TypeVar

from tradewind.cluster.constraints import HostPort
from tradewind.cluster.groups import GroupIndex, PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.overlay_map import OverlayMap

_Key = TypeVar("_Key", bound=Hashable)


class Placed(NamedTuple):
    """How many pods of each group, and which host ports, are on which node, by its name."""

    groups: OverlayMap[PodGroup, OverlayMap[str, int]]
    ports: OverlayMap[HostPort, OverlayMap[str, int]]
    group_index: GroupIndex  # also knows groups that are not, or no longer, among `groups`

    def changed(self, pods: Iterable[Pod], by: int) -> "Placed":
        """With one pod more or less for each of these: an overlay, whose cost is that of the pods."""
        groups, ports = _Counts(self.groups), _Counts(self.ports)
        new = []
        for pod in pods:
            group = group_of(pod)
            groups.change(group, pod.node_name, by)
            for port in pod.host_ports:
                ports.change(port, pod.node_name, by)
            if group not in self.group_index:
                new.append(group)
        # Only its writer may add to an index.
        index = self.group_index.with_groups(new) if new else self.group_index
        return Placed(groups.freeze(), ports.freeze(), index)


class PlacedPods:
    """The mutable side: what was handed out is copied before it is changed."""

    def __init__(self) -> None:
        self._groups: _Counts[PodGroup] = _Counts(OverlayMap())
        self._ports: _Counts[HostPort] = _Counts(OverlayMap())
        self._index = GroupIndex()
        self._size = 0  # of all groups
        self._frozen: Placed | None = None

    def freeze(self) -> Placed:
        if self._frozen is None:
            groups = self._groups.freeze()
            if self._index.worn_out(self._size):
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
        self._size += group.size * self._groups.change(group, pod.node_name, by)
        for port in pod.host_ports:
            self._ports.change(port, pod.node_name, by)


class _Counts(Generic[_Key]):
    """How many of each key are on each node; neither keys nor nodes of which there are none."""

    def __init__(self, start: OverlayMap[_Key, OverlayMap[str, int]]) -> None:
        self._counts = start
        # Changed since the last hand-out: nobody else holds these, nor then `_counts`.
        self._owned: dict[_Key, OverlayMap[str, int]] = {}

    def freeze(self) -> OverlayMap[_Key, OverlayMap[str, int]]:
        self._owned.clear()
        return self._counts

    def change(self, key: _Key, node_name: str, by: int) -> int:
        """1 if there was none of this key before, -1 if there is none any more, otherwise 0."""
        if not self._owned:
            self._counts = self._counts.copy()
        counts = self._owned.get(key)
        had = bool(counts)
        if counts is None:
            known = self._counts.find(key)
            had = known is not None
            counts = self._owned[key] = OverlayMap() if known is None else known.copy()
            self._counts.put(key, counts)
        counts.put(node_name, (counts.find(node_name) or 0) + by or None)
        if not counts:
            self._counts.put(key, None)
            del self._owned[key]
        return bool(counts) - had


def group_of(pod: Pod) -> PodGroup:
    return PodGroup(
        namespace=pod.namespace,
        labels=tuple(sorted(pod.labels.items())),
        anti_affinity=pod.anti_affinity,
        owner_uid=pod.owner.uid if pod.owner else "",
        workload=pod.workload,
        deleting=pod.deleting,
    )
