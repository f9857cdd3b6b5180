from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Mask, everyone
from scoring.topology import beside, matching, rows_with, widened
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Cluster, Nodes
from tradewind.cluster.table import Rows


@dataclass(frozen=True)
class PodAffinity:
    """The node is in the same domain as pods that the pod's required affinity asks for, term by term.

    As in kube-scheduler only pods that match every term count. The first pod of a group that wants to be with
    itself finds none anywhere: it may go to any node that has all the topology labels.
    """

    name: ClassVar[str] = "pod_affinity"
    reason: ClassVar[str] = "not near any pod that the pod's affinity asks for"
    resolvable: ClassVar[bool] = False

    widened_namespaces: bool = (
        False  # read namespace selectors as kube-scheduler 1.34 to 1.36 does: `widened`
    )

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not pod.affinity:
            return everyone(len(nodes))
        cluster = nodes.cluster
        terms = [widened(term) if self.widened_namespaces else term for term in pod.affinity]
        keys = {term.topology_key for term in terms}
        rows = _wanted(cluster, terms)
        near = np.stack([beside(cluster.table, key, rows) for key in keys])
        if not near.any() and _wants_itself(cluster, pod, terms):
            near = np.stack([cluster.table.domains(key).members for key in keys])
        return near.all(axis=0).take(nodes.rows)


def _wanted(cluster: Cluster, terms: Sequence[PodTerm]) -> Rows:
    """The nodes that have pods which match all terms."""
    first, *others = (matching(cluster, term) for term in terms)
    return rows_with(cluster, set(first).intersection(*others))


def _wants_itself(cluster: Cluster, pod: Pod, terms: Sequence[PodTerm]) -> bool:
    namespace_labels = cluster.namespace_labels(pod.namespace)
    return all(term.matches(pod.namespace, pod.labels, namespace_labels) for term in terms)
