"""Whether a controller has yet to create pods of a workload that waits.

A ReplicaSet creates 1, 2, 4 and more pods at a time, and on a busy control plane the pauses between them are
long. What is planned and bound before the rest is there may be in its way.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.errors import ApiError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded
from tradewind.planner import gate

_KIND = "ReplicaSet"
_PATH = "/apis/apps/v1/namespaces/{}/replicasets/{}"
_MAX_READS = 20  # in one look: with more workloads than that, pods of the others come meanwhile

_log = logging.getLogger(__name__)


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 1


class _ReplicaSet(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_replica_sets = msgspec.json.Decoder(_ReplicaSet)


class _Creation(NamedTuple):
    """Of the pods of one ReplicaSet."""

    wanted: int
    created: int
    at: float  # when so many were seen first


class OwedReplicas:
    def __init__(self, cache: Cache, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._client = client
        self._clock = clock
        self._creations: dict[str, _Creation] = {}  # by UID, of ReplicaSets with pods that are held

    def owed(self, patience: float) -> bool:
        """Whether pods are to come, and one of the same workload came within so many seconds.

        What a quota refuses never comes.
        """
        now = self._clock()
        paths = self._holding()
        created = self._created(paths)
        known, self._creations = self._creations, {}
        reads = 0
        for uid, path in paths.items():
            before = known.get(uid)
            if before is None or created[uid] > before.wanted:
                reads += 1
                if reads <= _MAX_READS:
                    self._creations[uid] = _Creation(self._wanted(path), created[uid], now)
            else:
                same = created[uid] == before.created
                self._creations[uid] = before if same else before._replace(created=created[uid], at=now)
        return any(
            each.created < each.wanted and now - each.at < patience for each in self._creations.values()
        )

    def _holding(self) -> Mapping[str, str]:
        """UIDs and paths of the ReplicaSets with pods that are held."""
        return {
            pod.owner.uid: _PATH.format(pod.namespace, pod.owner.name)
            for pod in self._cache.waiting()
            if pod.owner is not None and pod.owner.kind == _KIND and gate.held(pod)
        }

    def _created(self, uids: Container[str]) -> Counter[str]:
        """Pods of each that are there."""
        return Counter(
            pod.owner.uid
            for pod in (self._cache.all_pods() if uids else ())
            if pod.owner is not None and pod.owner.uid in uids and not (pod.finished or pod.deleting)
        )

    def _wanted(self, path: str) -> int:
        try:
            return decoded(_replica_sets, self._client.get(path)).spec.replicas
        except ApiError as error:  # old permissions, or it is gone: nothing is waited for
            _log.info("how many pods are to come cannot be read from %s: %s", path, error)
            return 0
