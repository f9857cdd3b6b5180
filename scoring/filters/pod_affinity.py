from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cluster.objects import Pod
from cluster.snapshot import Cluster, Nodes
from cluster.table import Rows
from scoring.rules import Mask
from scoring.topology import beside, matching, rows_with


@dataclass(frozen=True)
class PodAffinity:
    """The node is in the same domain as pods that the pod's required affinity asks for, term by term.

    As in kube-scheduler only pods that match every term count. The first pod of a group that wants to be with
    itself finds none anywhere: it may go to any node that has all the topology labels.
    """

    name: ClassVar[str] = "pod_affinity"
    reason: ClassVar[str] = "not near any pod that the pod's affinity asks for"
    resolvable: ClassVar[bool] = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.affinity:
            return np.ones(len(nodes), np.bool_)
        cluster = nodes.cluster
        keys = {term.topology_key for term in pod.affinity}
        rows = _wanted(cluster, pod)
        near = np.stack([beside(cluster.table, key, rows) for key in keys])
        if not near.any() and _wants_itself(cluster, pod):
            near = np.stack([cluster.table.domains(key).members for key in keys])
        return near.all(axis=0).take(nodes.rows)


def _wanted(cluster: Cluster, pod: Pod) -> Rows:
    """The nodes that have pods which match all terms."""
    first, *others = (matching(cluster, term) for term in pod.affinity)
    return rows_with(cluster, set(first).intersection(*others))


def _wants_itself(cluster: Cluster, pod: Pod) -> bool:
    namespace_labels = cluster.namespace_labels(pod.namespace)
    return all(term.matches(pod.namespace, pod.labels, namespace_labels) for term in pod.affinity)
