"""How large a gang is to be, where its pods do not say so: read from the PodGroup or the Job behind it.

It is written on the waiting members as their annotation `gang-min`, which every replica reads and which wakes
them in kube-scheduler's queue. A gang whose size was not looked up yet is not planned. Members of a gang that
was placed before need no size.

The size follows what the controllers still want: a gang that lacks members for a minute is made smaller where
its Jobs and ReplicaSets will not create them.
"""

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from scoring.gangs import gang_size, needs_gang
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import GANG
from tradewind.controller.wanted_pods import JOB, REPLICA_SET, WantedPods
from tradewind.errors import ApiError, NotFoundError
from tradewind.kube.client import Client
from tradewind.kube.failures import decoded

_POD_GROUP = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/podgroups/{}"
# What nobody knew may be known later: a PodGroup is made after its pods, or an API comes.
_AGAIN_SECONDS = 60.0
_MAX_LOOKS = 20  # in one round

_Read = TypeVar("_Read")

_log = logging.getLogger(__name__)


class _GroupSpec(msgspec.Struct, frozen=True, rename="camel"):
    min_member: int = 0


class _Group(msgspec.Struct, frozen=True):
    spec: _GroupSpec = _GroupSpec()


_groups = msgspec.json.Decoder(_Group)


class _Name(NamedTuple):
    namespace: str
    gang: str


class GangSizes:
    def __init__(self, cache: Cache, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._client = client
        self._reader = WantedPods(client)
        self._clock = clock
        self._looked: dict[_Name, float] = {}  # when

    def ready(self, pod: Pod) -> bool:
        """Whether the pod needs no gang, or one whose size is known or was looked up in vain."""
        return hints.GANG_MIN in pod.annotations or _name(pod) in self._looked or not self._needs_gang(pod)

    def run(self) -> None:
        """One round, over the gangs that wait and of which no pod says how large they are."""
        waiting: dict[_Name, list[Pod]] = {}
        for pod in self._cache.waiting():
            if self._needs_gang(pod):
                waiting.setdefault(_name(pod), []).append(pod)
        now = self._clock()
        self._looked = {name: at for name, at in self._looked.items() if name in waiting}
        due = [name for name in waiting if now - self._looked.get(name, -_AGAIN_SECONDS) >= _AGAIN_SECONDS]
        for name in due[:_MAX_LOOKS]:
            self._look(name, waiting[name], again=name in self._looked)
            self._looked[name] = now

    def _needs_gang(self, pod: Pod) -> bool:
        return bool(pod.gang) and needs_gang(pod, self._cache.snapshot().nodes.cluster.roster)

    def _look(self, name: _Name, waiting: Sequence[Pod], *, again: bool) -> None:
        roster = self._cache.snapshot().nodes.cluster.roster
        members = [each for each in roster.circle(GANG, f"{name.namespace}/{name.gang}") if not each.deleting]
        size = gang_size(members) or self._of_group(name)
        if not size:
            size = sum(each or 0 for each in self._of_controllers(members, {JOB}))
        if again and len(waiting) < size:
            wanted = [each or math.inf for each in self._of_controllers(members, {JOB, REPLICA_SET})]
            size = int(min(size, sum(wanted)))
        if not size:
            return
        for pod in waiting:
            if hints.GANG_MIN not in pod.annotations or hints.readable(pod).gang_min > size:
                self._write(pod, size)

    def _of_group(self, name: _Name) -> int:
        found = self._read(_POD_GROUP.format(*name), _groups)
        return found.spec.min_member if found else 0

    def _of_controllers(self, members: Sequence[Pod], kinds: Collection[str]) -> Sequence[int | None]:
        """How many pods each of the members' controllers still wants at the same time; None where unknown."""
        owners = {pod.owner and (pod.owner.kind, pod.namespace, pod.owner.name) for pod in members}
        return [self._reader.of(*owner) if owner and owner[0] in kinds else None for owner in owners]

    def _read(self, path: str, decoder: msgspec.json.Decoder[_Read]) -> _Read | None:
        try:
            return decoded(decoder, self._client.get(path))
        except NotFoundError:
            return None
        except ApiError as error:
            _log.warning("the size of a gang cannot be read from %s: %s", path, error)
            return None

    def _write(self, pod: Pod, size: int) -> None:
        patch = {"metadata": {"uid": pod.uid, "annotations": {hints.GANG_MIN: str(size)}}}
        try:
            self._client.patch(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}", patch)
        except ApiError as error:
            _log.warning("could not write the size of its gang on pod %s: %s", pod, error)


def _name(pod: Pod) -> _Name:
    return _Name(pod.namespace, pod.gang)
