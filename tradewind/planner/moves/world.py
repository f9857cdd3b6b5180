"""The cluster at one moment, as moves see it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import selection


class World(NamedTuple):
    snapshot: Snapshot
    pods: Sequence[Pod]
    now: float  # seconds since 1970
    promised: Mapping[str, Pod] = {}  # by UID, as on their nodes: planned, and not written yet

    def as_planned(self) -> "World":
        """Pods that were or will be sent to a node and are not there yet have its room."""
        flying = self._flying()
        pods = [flying.get(pod.uid, pod) for pod in self.pods]
        return World(self.snapshot.with_pods(flying.values()), pods, self.now)

    def destinations(self) -> frozenset[str]:
        """Nodes that pods are on their way to: these do not become empty."""
        return frozenset(pod.node_name for pod in self._flying().values())

    def _flying(self) -> dict[str, Pod]:
        flying = {pod.uid: pod for pod in selection.in_flight(self.pods, self.now)}
        if self.promised:
            waiting = {pod.uid for pod in self.pods if pod.waiting}
            flying |= {uid: pod for uid, pod in self.promised.items() if uid in waiting}
        return flying

    def leaving(self) -> frozenset[str]:
        """Nodes with a termination notice."""
        names, leaving = self.snapshot.nodes.cluster.table.names, self.snapshot.nodes.cluster.leaving
        return frozenset(names[row] for row in leaving.nonzero()[0].tolist())
