"""Who takes the room that a pod lacks, and how many more nodes would do."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.topology import beside
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.in_use import belongs_to_node
from tradewind.cluster.objects import Pod
from tradewind.cluster.placed import group_of
from tradewind.planner.batch import Batch
from tradewind.planner.problem import Amounts, Assignment, Codes, Mask

_TYPE = "node.kubernetes.io/instance-type"
_MAX_NAMED = 2
_ANTI_AFFINITY = PodAntiAffinity(widened_namespaces=True)  # as plans read it


class _Pods(NamedTuple):
    """All pods that have a place, or are planned on one."""

    rows: Codes  # (P,)
    workloads: Codes  # (P,) their numbers
    names: Sequence[str]  # of the workloads
    pods: Sequence[Pod]


class Takers:
    """Of one plan; looked up once for all pods without a place, and only if there are any."""

    def __init__(self, batch: Batch, assignment: Assignment) -> None:
        self._batch = batch
        self._assignment = assignment
        self._amounts: dict[str, Amounts] = {}
        self._told: dict[tuple[str, bytes], str] = {}

    def of(self, resource: str, rows: Mask) -> str:
        """The workloads that take most of the resource on these nodes."""
        key = (resource, rows.tobytes())
        if key not in self._told:
            there = rows[self._pods.rows]
            amounts = self._amount(resource) * there
            workloads = self._pods.workloads
            taken = np.bincount(workloads, weights=amounts, minlength=len(self._pods.names))
            pods = np.bincount(workloads, weights=there & (amounts > 0), minlength=taken.size)
            self._told[key] = _named(
                (self._pods.names[at], int(pods[at])) for at in np.argsort(-taken, kind="stable") if taken[at]
            )
        return self._told[key]

    def among(self, classes: Iterable[int]) -> str:
        """The workloads of these classes that the plan places."""
        pods = Counter[str]()
        wanted = frozenset(classes)
        for (index, _), count in self._assignment.items():
            if index in wanted:
                pods[workload_name(self._batch.groups[index].pod)] += count
        return _named(pods.most_common())

    def apart_from(self, pod: Pod, rows: Mask) -> str:
        """The workloads with pods near these nodes from which its anti-affinity, or theirs, keeps the pod."""
        cluster = self._batch.snapshot.nodes.cluster
        pods = Counter[str]()
        for key, groups in _ANTI_AFFINITY.opponents(pod, cluster):
            near = beside(cluster.table, key, np.flatnonzero(rows))
            there = [each for group in groups for each in self._staying.get(group, ())]
            pods.update(workload_name(each) for each in there if near[cluster.table.row_of[each.node_name]])
        return _named(pods.most_common())

    def more_nodes(self, index: int, pods: int, rows: Mask) -> str:
        """How many nodes more like one of these would take so many pods of the class; the cheapest way."""
        problem, nodes = self._batch.problem, self._batch.snapshot.nodes
        requests = problem.classes[index].requests[: len(nodes.allocatable)]
        asked = np.flatnonzero(requests)
        if not (asked.size and rows.any()):
            return ""
        room = (nodes.allocatable[asked] - self._agents[asked]) // requests[asked, None]
        fitting = np.where(rows, room.min(axis=0), 0)
        needed = np.where(fitting > 0, -(-pods // np.maximum(fitting, 1)), np.inf)
        cost = needed * problem.price
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            return ""
        node = nodes.cluster.table.nodes[best]
        kind = node.labels.get(_TYPE)
        like = f"{node.name} ({kind})" if kind else node.name
        number = int(needed[best])
        all_of = "it" if pods == 1 else f"all {pods:,} of them"
        return f"{number:,} more node{'' if number == 1 else 's'} like {like} would take {all_of}"

    @cached_property
    def _staying(self) -> Mapping[PodGroup, Sequence[Pod]]:
        """Pods on nodes."""
        found = defaultdict[PodGroup, list[Pod]](list)
        for pod in self._batch.staying:
            if pod.node_name in self._batch.snapshot.row_of:
                found[group_of(pod)].append(pod)
        return found

    @cached_property
    def _pods(self) -> _Pods:
        row_of = self._batch.snapshot.row_of
        pods = [pod for pod in self._batch.staying if pod.node_name in row_of]
        rows = [row_of[pod.node_name] for pod in pods]
        for (index, row), count in self._assignment.items():
            pods += [self._batch.groups[index].pod] * count
            rows += [row] * count
        numbers: dict[str, int] = {}
        workloads = [numbers.setdefault(workload_name(pod), len(numbers)) for pod in pods]
        return _Pods(np.array(rows, np.intp), np.array(workloads, np.intp), list(numbers), pods)

    def _amount(self, resource: str) -> Amounts:
        if resource not in self._amounts:
            amounts = [pod.requests.get(resource, 0) for pod in self._pods.pods]
            self._amounts[resource] = np.array(amounts, np.int64)
        return self._amounts[resource]

    @cached_property
    def _agents(self) -> Amounts:
        """(R, N) what the node's own pods take, as on every node of its kind."""
        nodes = self._batch.snapshot.nodes
        taken = np.zeros_like(nodes.allocatable)
        for row, pod in zip(self._pods.rows.tolist(), self._pods.pods, strict=True):
            if belongs_to_node(pod):
                for resource, amount in pod.requests.items():
                    if resource in nodes.resource_rows:
                        taken[nodes.resource_rows[resource], row] += amount
        return taken


def workload_name(pod: Pod) -> str:
    """For people: `Deployment shop/web`; a pod without a controller by its own name."""
    return pod.workload or str(pod)


def _counted(name: str, pods: int) -> str:
    if pods == 1:
        return name
    return f"{name} ({pods:,} pods)" if " " in name else f"{pods:,} pods like {name}"


def _named(pods: Iterable[tuple[str, int]]) -> str:
    """`Deployment shop/web (12 pods), shop/one and 3 more`; empty if there are none."""
    found = list(pods)
    shown = [_counted(*each) for each in found[:_MAX_NAMED]]
    if len(found) > _MAX_NAMED:
        shown.append(f"{len(found) - _MAX_NAMED:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
