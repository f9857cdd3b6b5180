"""Wakes pods that our rules rejected and would accept by now.

kube-scheduler retries a pod that an extender rejected when something changes in the cluster, or after five
minutes. But a rejection of ours may end without such a change: by the clock, by a new configuration, by what
our watch brings after kube-scheduler's. So every pod that was left without a node is looked at again once a
second. If it has one by now, all rejected pods are woken by an annotation on our own pod: the update of any
pod on a node wakes them.
"""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from extender.protocol import Request
from extender.verb import ClusterState
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.kube.client import Client
from tradewind.kube.objects import PodReference

WOKEN = ANNOTATION_PREFIX + "woken-at"

# After this time kube-scheduler tries the pod again by itself.
_MAX_SECONDS = 300.0
_MAX_PODS = 256
# One look takes no longer than this from the requests of a second.
_LOOK_SECONDS = 0.02

_log = logging.getLogger(__name__)


class _Rejected(NamedTuple):
    request: Request
    at: float


class Waker:
    def __init__(
        self,
        cluster: ClusterState,
        would_pass: Callable[[Request], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._would_pass = would_pass
        self._clock = clock
        self._rejected: dict[str, _Rejected] = {}  # by UID, the one looked at longest ago first

    def answered(self, request: Request, *, placeable: bool) -> None:
        self._rejected.pop(request.pod.uid, None)
        if not placeable and request.names:
            self._rejected[request.pod.uid] = _Rejected(request, self._clock())
            if len(self._rejected) > _MAX_PODS:
                del self._rejected[next(iter(self._rejected))]

    def look(self) -> bool:
        """Whether a pod that was left without a node has one by now."""
        if not self._cluster.synced or self._cluster.stale:
            return False
        started, found = self._clock(), False
        for uid, each in list(self._rejected.items()):
            if self._clock() - started > _LOOK_SECONDS:
                break
            del self._rejected[uid]
            if started - each.at > _MAX_SECONDS or not self._waits(uid):
                continue
            if self._would_pass(each.request):
                _log.info("Waking pods: a rejected pod has a node by now: pod=%s", each.request.pod)
                found = True
            else:
                self._rejected[uid] = each
        return found

    def _waits(self, uid: str) -> bool:
        """Whether it is still without a node, or our watch has not brought it yet."""
        known = self._cluster.cache.pods([uid])
        return not known or known[0].waiting


def wake(client: Client, own: PodReference) -> None:
    """Change our own pod, which is on a node."""
    annotations = {WOKEN: f"{time.time():.3f}"}
    path = f"/api/v1/namespaces/{own.namespace}/pods/{own.name}"
    client.patch(path, {"metadata": {"annotations": annotations, "uid": own.uid or None}})
