"""Pods of one workload that carry the same placement hint."""

from collections.abc import Iterator

from scoring.pod_filter import Waiting
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Cluster


def counted_on(hint: str, pod: Pod, cluster: Cluster) -> Amounts:
    """(N,) pods of the pod's workload with this hint on each node of the cluster, the pod itself apart."""
    counts = np.zeros(len(cluster.table), np.int64)
    row_of = cluster.table.row_of
    for other in cluster.roster.circle(hint, hints.workload(pod)):
        row = row_of.get(other.node_name)
        if row is not None and other.uid != pod.uid:
            counts[row] += 1
    return counts


def related_by(hint: str, waiting: Waiting) -> Iterator[tuple[Pod, list[int]]]:
    """For each workload whose pods carry the hint one of them, and the classes of all."""
    classes: dict[str, list[int]] = {}
    for index, pod in enumerate(waiting.pods):
        if pod.annotations.get(hint, "false") != "false":
            classes.setdefault(hints.workload(pod), []).append(index)
    for owner in sorted(classes):
        subject = [index for index in classes[owner] if index in waiting.subject]
        if subject:
            yield waiting.pods[subject[-1]], classes[owner]
