"""Keeps the durable floor of workloads that shrink.

When a ReplicaSet loses replicas, it chooses which by rules of its own that know nothing of durable nodes. But
it asks each pod what its deletion would cost. So as many replicas on durable nodes as the floor needs get
that annotation; a pod that has one already, of ours or of its owner's, is left alone.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

from scoring.filters.durable_floor import DurableFloor
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import DELETION_COST, Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.controller.metrics import PlanMetrics
from tradewind.errors import ApiError
from tradewind.kube.client import Client

# Pods without the annotation count as 0, so any positive number keeps them longer.
_COST = "1000"
# One round must not take long: what is left over comes with the next.
_MAX_PATCHES = 200

_log = logging.getLogger(__name__)


class FloorGuard:
    def __init__(
        self, cache: Cache, client: Client, policy_of: Callable[[Pod], Policy], metrics: PlanMetrics
    ) -> None:
        self._cache = cache
        self._client = client
        self._policy_of = policy_of
        self._metrics = metrics
        self._seen = -1  # generation

    def run(self) -> None:
        """One round; nothing if nothing has changed since the last."""
        snapshot = self._cache.snapshot()
        if snapshot.generation == self._seen:
            return
        wanting = list(_wanting(self._cache.all_pods(), snapshot, self._policy_of))
        for pod in wanting[:_MAX_PATCHES]:
            self._protect(pod)
        if len(wanting) <= _MAX_PATCHES:
            self._seen = snapshot.generation

    def _protect(self, pod: Pod) -> None:
        patch = {"metadata": {"uid": pod.uid, "annotations": {DELETION_COST: _COST}}}
        try:
            self._client.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)
        except ApiError as error:
            self._metrics.protected.labels("failed").inc()
            _log.warning("protecting %s from being deleted first: %s", pod, error)
            return
        self._metrics.protected.labels("protected").inc()


def _wanting(pods: Iterable[Pod], snapshot: Snapshot, policy_of: Callable[[Pod], Policy]) -> Iterator[Pod]:
    """Replicas that the floor needs where they are and that are not protected yet."""
    durable = snapshot.nodes.cluster.durable
    row_of = snapshot.row_of
    for replicas in _workloads(pods):
        needed = _required(replicas, policy_of)
        safe = [pod for pod in replicas if pod.node_name in row_of and durable[row_of[pod.node_name]]]
        safe.sort(key=lambda pod: (DELETION_COST not in pod.annotations, pod.created, pod.name))
        yield from (pod for pod in safe[:needed] if DELETION_COST not in pod.annotations)


def _workloads(pods: Iterable[Pod]) -> Iterable[list[Pod]]:
    by_owner: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.owner is not None and pod.node_name and not pod.finished and not pod.deleting:
            by_owner.setdefault(pod.owner.uid, []).append(pod)
    return by_owner.values()


def _required(replicas: list[Pod], policy_of: Callable[[Pod], Policy]) -> int:
    """All replicas of a workload are alike, so the first speaks for all."""
    floors = [rule for rule in policy_of(replicas[0]).filters if isinstance(rule, DurableFloor)]
    return max((floor.required(replicas[0], len(replicas)) for floor in floors), default=0)
