"""The cluster at one moment, as moves see it."""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import selection


class World(NamedTuple):
    snapshot: Snapshot
    pods: Sequence[Pod]
    now: float  # seconds since 1970

    def as_planned(self) -> "World":
        """Pods that were sent to a node and are not there yet have its room."""
        flying = {pod.uid: pod for pod in selection.in_flight(self.pods, self.now)}
        pods = [flying.get(pod.uid, pod) for pod in self.pods]
        return World(self.snapshot.with_pods(flying.values()), pods, self.now)

    def leaving(self) -> frozenset[str]:
        """Nodes with a termination notice."""
        names, leaving = self.snapshot.nodes.cluster.table.names, self.snapshot.nodes.cluster.leaving
        return frozenset(names[row] for row in leaving.nonzero()[0].tolist())
