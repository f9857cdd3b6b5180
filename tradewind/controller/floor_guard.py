"""Keeps the durable floor of workloads that shrink.

A ReplicaSet that shrinks chooses the pods to delete by rules that know nothing of durable nodes, but it
compares their deletion costs first. So as many replicas on durable nodes as the floor needs get that
annotation; a pod that has one already, ours or its owner's, is left alone.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from scoring.pod_filter import PodFilter
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import DELETION_COST, Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.config.settings import Settings
from tradewind.controller.metrics import PlanMetrics
from tradewind.errors import ApiError
from tradewind.kube.client import Client

# Pods without the annotation count as 0, so any positive number keeps them longer.
_COST = "1000"
# A round must not take long: what is left over comes with the next.
_MAX_PATCHES = 200
_RETRY_SECONDS = 10.0
# The controllers that read deletion costs: the second runs the code of the first.
_READING_COSTS = frozenset({"ReplicaSet", "ReplicationController"})

_log = logging.getLogger(__name__)


class FloorGuard:
    def __init__(
        self,
        cache: Cache,
        client: Client,
        settings: Settings,
        metrics: PlanMetrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        self._client = client
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._version = -1  # of the settings
        self._failed: set[str] = set()  # workloads
        self._retry_at = 0.0

    def run(self) -> None:
        """One round, over the workloads that changed since the last; over all after a change of settings."""
        if self._failed and self._clock() >= self._retry_at:
            self._cache.requeue_replicas(self._failed)
            self._failed.clear()
        version = self._settings.version
        snapshot, changed = self._cache.changed_replicas(all_of_them=version != self._version)
        self._version = version
        try:
            self._protect_all(snapshot, changed)
        except Exception:
            self._cache.requeue_replicas(changed)
            raise

    def _protect_all(self, snapshot: Snapshot, changed: Mapping[str, Sequence[Pod]]) -> None:
        left = _MAX_PATCHES
        for workload, replicas in changed.items():
            pods = list(to_protect(replicas, snapshot, self._settings.policy_of))
            if len(pods) > left:
                self._cache.requeue_replicas([workload])
            for pod in pods[:left]:
                left -= 1
                if not self._protect(pod):
                    self._failed.add(workload)
                    self._retry_at = self._clock() + _RETRY_SECONDS

    def _protect(self, pod: Pod) -> bool:
        patch = {"metadata": {"uid": pod.uid, "annotations": {DELETION_COST: _COST}}}
        try:
            self._client.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)
        except ApiError as error:
            self._metrics.protected.labels("failed").inc()
            _log.warning("could not set the deletion cost of pod %s: %s", pod, error)
            return False
        self._metrics.protected.labels("protected").inc()
        return True


def to_protect(
    replicas: Sequence[Pod], snapshot: Snapshot, policy_of: Callable[[Pod], Policy]
) -> Iterator[Pod]:
    """Replicas of one workload that its floor needs where they are, and that have no deletion cost yet.

    As in the filter the floor is that of each ReplicaSet, and of all of them together.
    """
    one = replicas[0]  # speaks for all: they have the same template, or nearly so
    floors = [rule for rule in policy_of(one).filters if isinstance(rule, PodFilter)]
    if not floors or one.owner is None or one.owner.kind not in _READING_COSTS:
        return
    safe = _on_durable_nodes(replicas, snapshot)
    kept: list[Pod] = []
    for uid, total in Counter(_owner_uid(pod) for pod in replicas).items():
        own = [pod for pod in safe if _owner_uid(pod) == uid]
        kept += own[: max(floor.durable_replicas(one, total) for floor in floors)]
    chosen = {pod.uid for pod in kept}
    others = [pod for pod in safe if pod.uid not in chosen]
    short = max(floor.durable_replicas(one, len(replicas)) for floor in floors) - len(kept)
    for pod in (*kept, *others[: max(0, short)]):
        if DELETION_COST not in pod.annotations:
            yield pod


def _on_durable_nodes(replicas: Sequence[Pod], snapshot: Snapshot) -> list[Pod]:
    """Those that have a deletion cost first, then the oldest.

    Ready ones alone: a ReplicaSet deletes others before it looks at deletion costs.
    """
    durable, row_of = snapshot.nodes.cluster.durable, snapshot.row_of
    safe = [
        pod for pod in replicas if pod.ready and pod.node_name in row_of and durable[row_of[pod.node_name]]
    ]
    return sorted(safe, key=lambda pod: (DELETION_COST not in pod.annotations, pod.created, pod.name))


def _owner_uid(pod: Pod) -> str:
    return pod.owner.uid if pod.owner else ""
