"""Binding pods ourselves, after a last look at the newest state.

kube-scheduler binds several pods at a time, and its next cycle asks us before the watch has told us of the
last one. So two pods may both be sent to a place that our rules give to one. Here the check and the counting
are one step: the first pod gets the place, the second is refused, and finds that node left out of its next
attempt. Only one instance can know what was just counted: more than one Tradewind must not bind.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from cachetools import TTLCache

from extender.metrics import ExtenderMetrics
from extender.protocol import BindRequest
from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod, read_pod
from tradewind.errors import ApiError, NotFoundError, UnreadableObjectError
from tradewind.kube.client import Client

# The watch tells within this time whether a binding took place whose answer is lost.
_ASSUMED_SECONDS = 30.0
# A refused pod is back within seconds; kube-scheduler's longest back-off is 10 s.
_REFUSAL_SECONDS = 30.0
# kube-scheduler waits for 5 s, the default httpTimeout, and then tries the pod again.
_ANSWER_SECONDS = 4.0
# Bindings under way at once; threads of their own, so that slow ones keep nothing else waiting.
_MAX_BINDINGS = 16

_log = logging.getLogger(__name__)


class Binder:
    def __init__(
        self, cache: Cache, client: Client, policy_of: Callable[[Pod], Policy], metrics: ExtenderMetrics
    ) -> None:
        self._cache = cache
        self._client = client
        self._policy_of = policy_of
        self._metrics = metrics
        self._threads = ThreadPoolExecutor(_MAX_BINDINGS, "bind")
        self._refused: TTLCache[str, frozenset[str]] = TTLCache(10_000, ttl=_REFUSAL_SECONDS)

    def refused(self, uid: str) -> frozenset[str]:
        """The nodes that refused this pod since it was last asked about."""
        refused: frozenset[str] = self._refused.get(uid, frozenset())
        return refused

    def forget_refusals(self, uid: str) -> None:
        self._refused.pop(uid, None)

    async def bind(self, request: BindRequest, *, checked: bool = True) -> str:
        """Bind, and return what went wrong, or nothing; again for the same node is no error.

        Without `checked` no rule of ours is asked, because the cluster state is not one to ask them about.
        """
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self._bind_in_time(request, checked=checked)
        except TimeoutError:
            self._metrics.bindings.labels("failed").inc()
            return self._failed(request, f"no answer within {_ANSWER_SECONDS:g} s")

    async def _bind_in_time(self, request: BindRequest, *, checked: bool) -> str:
        reason = await self._assume(request, checked=checked)
        if reason:
            self._refused[request.uid] = self.refused(request.uid) | {request.node_name}
            self._metrics.bindings.labels("refused").inc()
            return f"Tradewind refuses node {request.node_name}: {reason}"
        binding = self._threads.submit(self._bind, request)
        try:
            error = await asyncio.wrap_future(binding)
        finally:
            if binding.cancel():  # no thread was free, so it will not take place
                self._cache.assumed.forget(request.uid)
        self._metrics.bindings.labels("failed" if error else "bound").inc()
        return error

    async def _assume(self, request: BindRequest, *, checked: bool) -> str:
        """Count the pod as placed; return the reason if a rule of ours is against it."""
        known = self._cache.pods([request.uid])
        pod = known[0] if known else await asyncio.wrap_future(self._threads.submit(self._fetch, request))
        if pod is None or pod.node_name:
            return ""  # nothing to check, or it is counted already
        reason = self._objections(pod, request.node_name) if checked else ""
        if not reason:
            self._cache.assumed.assume(pod, request.node_name, _ASSUMED_SECONDS, hard=True)
        return reason

    def _objections(self, pod: Pod, node_name: str) -> str:
        """Asked by one event loop, so nothing comes between this and the counting."""
        snapshot = self._cache.assumed.overlay(self._cache.snapshot(), pod)
        row = snapshot.row_of.get(node_name)
        if row is None:
            return ""
        verdict = self._policy_of(pod).filter(pod, snapshot.nodes.take(np.array([row])))
        return "; ".join(rejection.rule.reason for rejection in verdict.rejections)

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
        try:
            found = self._get(request)
        except NotFoundError:
            found = None
        except (ApiError, UnreadableObjectError) as doubt:
            # The watch tells whether it took place. Until then, or until the entry expires, the pod counts.
            _log.warning("Failed to get pod: pod=%s/%s error=%s", request.namespace, request.name, doubt)
            return self._failed(request, error)
        if found is not None and found.node_name:
            self._cache.assumed.assume(found, found.node_name, _ASSUMED_SECONDS, hard=True)
        else:
            self._cache.assumed.forget(request.uid)
        is_bound = found is not None and found.node_name == request.node_name
        return "" if is_bound else self._failed(request, error)

    def _failed(self, request: BindRequest, error: ApiError | str) -> str:
        _log.warning(
            "Failed to bind pod: pod=%s/%s node=%s error=%s",
            request.namespace,
            request.name,
            request.node_name,
            error,
        )
        return f"binding to node {request.node_name} failed: {error}"

    def _fetch(self, request: BindRequest) -> Pod | None:
        try:
            return self._get(request)
        except (ApiError, UnreadableObjectError) as error:
            _log.warning("Failed to get pod: pod=%s/%s error=%s", request.namespace, request.name, error)
            return None

    def _get(self, request: BindRequest) -> Pod | None:
        """None where the pod of that name is another one."""
        pod = read_pod(self._client.get(_path(request)))
        return pod if pod.uid == request.uid else None


def _path(request: BindRequest) -> str:
    return f"/api/v1/namespaces/{request.namespace}/pods/{request.name}"
