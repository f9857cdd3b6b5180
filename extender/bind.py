"""Binding pods ourselves, after a last look at the newest state.

kube-scheduler binds several pods at a time, and its next cycle asks us before the watch has told us of the
last one. So two pods may both be sent to a place that our rules give to one. Here the check and the counting
are one step: the first pod gets the place, the second is refused, and finds that node left out of its next
attempt. Only one instance can know what was just counted: more than one Tradewind must not bind.
"""

import asyncio
import logging
import threading
from collections.abc import Callable

import numpy as np
from cachetools import TTLCache

from extender.metrics import ExtenderMetrics
from extender.protocol import BindRequest
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod, read_pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.errors import ApiError, NotFoundError, UnreadableObjectError
from tradewind.kube.client import Client

# When the answer to a binding is lost, the watch tells within this time whether it took place.
_DOUBT_SECONDS = 30.0
# A refused pod is back within seconds; kube-scheduler's longest back-off is 10 s.
_REFUSAL_SECONDS = 30.0

_log = logging.getLogger(__name__)


class Binder:
    def __init__(
        self, cache: Cache, client: Client, policy_of: Callable[[Pod], Policy], metrics: ExtenderMetrics
    ) -> None:
        self._cache = cache
        self._client = client
        self._policy_of = policy_of
        self._metrics = metrics
        self._refused: TTLCache[str, frozenset[str]] = TTLCache(10_000, ttl=_REFUSAL_SECONDS)

    def take_refused(self, uid: str) -> frozenset[str]:
        """The nodes that refused this pod since the last call."""
        refused: frozenset[str] = self._refused.pop(uid, frozenset())
        return refused

    async def bind(self, request: BindRequest, *, checked: bool = True) -> str:
        """Bind, and return what went wrong, or nothing; again for the same node is no error.

        Without `checked` no rule of ours is asked, because the cluster state is not one to ask them about.
        """
        reason = await self._assume(request, checked=checked)
        if reason:
            self._refused[request.uid] = self._refused.get(request.uid, frozenset()) | {request.node_name}
            self._metrics.bindings.labels("refused").inc()
            return f"Tradewind refuses node {request.node_name}: {reason}"
        error = await asyncio.to_thread(self._bind, request)
        self._metrics.bindings.labels("failed" if error else "bound").inc()
        return error

    async def _assume(self, request: BindRequest, *, checked: bool) -> str:
        """Count the pod as placed; return the reason if a rule of ours is against it."""
        known = self._cache.pods([request.uid])
        pod = known[0] if known else await asyncio.to_thread(self._fetch, request)
        if pod is None or pod.node_name == request.node_name:
            return ""  # nothing to check, or it is counted there already
        reasons: list[str] = []

        def accept(snapshot: Snapshot) -> bool:
            if checked:
                reasons.extend(self._objections(pod, request.node_name, snapshot))
            return not reasons

        self._cache.assume(pod, request.node_name, accept)
        return "; ".join(reasons)

    def _objections(self, pod: Pod, node_name: str, snapshot: Snapshot) -> list[str]:
        row = snapshot.row_of.get(node_name)
        if row is None:
            return []
        verdict = self._policy_of(pod).filter(pod, snapshot.nodes.take(np.array([row])))
        return [rejection.rule.reason for rejection in verdict.rejections]

    def _bind(self, request: BindRequest) -> str:
        body = {
            "metadata": {"name": request.name, "namespace": request.namespace, "uid": request.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": request.node_name},
        }
        try:
            self._client.create(f"{_path(request)}/binding", body)
        except ApiError as error:
            return self._after_failure(request, error)
        return ""

    def _after_failure(self, request: BindRequest, error: ApiError) -> str:
        """A repeated binding is refused as a conflict, and an answer may be lost: what does the pod say?"""
        pod = self._fetch(request)
        if pod is not None and pod.node_name == request.node_name:
            return ""
        if pod is not None:
            self._cache.forget(request.uid)
            self._cache.apply_pod(pod)
        elif isinstance(error, NotFoundError):
            self._cache.forget(request.uid)
        else:
            _forget_later(self._cache, request.uid)
        _log.warning(
            "binding of %s/%s to %s failed: %s", request.namespace, request.name, request.node_name, error
        )
        return f"binding to node {request.node_name} failed: {error}"

    def _fetch(self, request: BindRequest) -> Pod | None:
        try:
            pod = read_pod(self._client.get(_path(request)))
        except (ApiError, UnreadableObjectError) as error:
            _log.warning("reading pod %s/%s failed: %s", request.namespace, request.name, error)
            return None
        return pod if pod.uid == request.uid else None


def _path(request: BindRequest) -> str:
    return f"/api/v1/namespaces/{request.namespace}/pods/{request.name}"


def _forget_later(cache: Cache, uid: str) -> None:
    timer = threading.Timer(_DOUBT_SECONDS, cache.forget, [uid])
    timer.daemon = True
    timer.start()
