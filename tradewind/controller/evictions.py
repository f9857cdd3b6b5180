"""Evicting pods: through the Eviction API, so that disruption budgets hold; only where it was switched on."""

import logging
import time
from collections.abc import Callable, Iterable

from tradewind.cluster.objects import Pod
from tradewind.controller.metrics import PlanMetrics
from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client

# A budget may let the pod go later.
_AGAIN_SECONDS = 10.0

_log = logging.getLogger(__name__)


class Evictions:
    def __init__(
        self, client: Client, metrics: PlanMetrics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._tried: dict[str, float] = {}  # by UID, when

    def evict(self, pods: Iterable[Pod]) -> None:
        """May be asked again and again, until the pods are gone; each is tried every now and then."""
        now = self._clock()
        self._tried = {uid: at for uid, at in self._tried.items() if now - at < _AGAIN_SECONDS}
        for pod in pods:
            if pod.uid not in self._tried:
                self._tried[pod.uid] = now
                self._evict(pod)

    def _evict(self, pod: Pod) -> None:
        try:
            request_eviction(self._client, pod)
        except NotFoundError:
            return
        except ApiError as error:
            self._metrics.evictions.labels("failed").inc()
            _log.warning("pod %s could not be evicted: %s", pod, error)
            return
        self._metrics.evictions.labels("evicted").inc()
        _log.info("evicted pod %s", pod)


def request_eviction(client: Client, pod: Pod, *, dry_run: bool = False) -> None:
    """Of this pod, not of one that came after it under the same name; raise ApiError where it is refused."""
    options = {"preconditions": {"uid": pod.uid}} | ({"dryRun": ["All"]} if dry_run else {})
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    client.create(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction", body)
