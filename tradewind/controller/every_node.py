"""Workloads that want a pod on every node, and the nodes that have none."""

from collections.abc import Iterator

import numpy as np

from scoring.alike import counted_on
from scoring.filters.hinted_labels import HintedLabels
from scoring.filters.node_affinity import NodeAffinity
from scoring.filters.taints import Taints
from scoring.filters.unschedulable import Unschedulable
from scoring.rules import Filter
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot

# What a pod says of nodes, whatever is on them: who is full still counts as one without.
_CHOICE: tuple[Filter, ...] = (Unschedulable(), Taints(), NodeAffinity(), HintedLabels())
_NAMED = 5


def nodes_without(snapshot: Snapshot) -> Iterator[tuple[Pod, str]]:
    """For each such workload its oldest pod, and which of the nodes that it may use have none of it."""
    nodes = snapshot.nodes
    for circle, pods in nodes.cluster.roster.circles.items():
        asking = [pod for pod in pods.values() if hints.readable(pod).every_node and not pod.deleting]
        if circle.hint != hints.ONE_PER_NODE or not asking:
            continue
        oldest = min(asking, key=lambda pod: (not pod.node_name, pod.created, pod.name))
        wanted = np.all([rule.feasible(oldest, nodes) for rule in _CHOICE], axis=0)
        counts = counted_on(hints.ONE_PER_NODE, oldest, nodes.cluster)
        if oldest.node_name in snapshot.row_of:
            counts[snapshot.row_of[oldest.node_name]] += 1
        without = np.flatnonzero(wanted & (counts == 0))
        if without.size:
            yield oldest, _told(sorted(nodes.names_at(without.tolist())), int(wanted.sum()))


def _told(names: list[str], of_all: int) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} of {of_all} nodes have no pod of this workload: {', '.join(names[:_NAMED])}{more}"
