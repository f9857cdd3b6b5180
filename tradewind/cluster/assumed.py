"""Pods that are about to be on a node and are not seen there yet: the one place that knows them.

kube-scheduler asks about the next pod before our watch brings the binding of the last. A hard entry is a
promise of ours, such as a pod that was sent to one node or room reserved for a gang: filters and scores count
it. A soft entry is a guess, the node that was ranked first: only scores count it.

An entry ends when the watch brings the binding, when the pod is deleted, or when it expires. It is known to
this process alone: after a restart, or in another replica, there are none.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot

# Beyond this the oldest is forgotten. A soft one costs each request a few microseconds; hard ones are put
# into a snapshot once for many requests; a gang of a thousand pods has one for each.
_MAX_SOFT = 512
_MAX_HARD = 2048


class AssumedPod(NamedTuple):
    pod: Pod  # as on the node
    hard: bool
    gang: str  # room reserved for this gang, which its members do not see; else ""
    expires: float  # by the monotonic clock


# Of an entry that ended: confirmed, elsewhere, deleted or expired.
Observe = Callable[[AssumedPod, str], None]


class AssumedPods:
    """Every method may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._hard: dict[str, AssumedPod] = {}  # by UID, the newest last
        self._soft: dict[str, AssumedPod] = {}
        self._seen: dict[str, int] = {}  # UID to the generation of the cache that has the binding
        self._next_expiry = math.inf
        self._version = 0
        self._overlays: dict[tuple[str, str], Snapshot] = {}  # of one snapshot and version
        self._overlaid: tuple[Snapshot, int] | None = None
        self.observe: Observe = lambda _entry, _outcome: None

    def assume(self, pod: Pod, node_name: str, seconds: float, *, hard: bool, gang: str = "") -> None:
        """Count the pod as on the node for at most `seconds`, instead of what was assumed of it before."""
        placed = msgspec.structs.replace(pod, node_name=node_name)
        entry = AssumedPod(placed, hard, gang, self._clock() + seconds)
        entries = self._hard if hard else self._soft
        with self._lock:
            self._drop(pod.uid)
            entries[pod.uid] = entry
            self._next_expiry = min(self._next_expiry, entry.expires)
            if len(entries) > (_MAX_HARD if hard else _MAX_SOFT):
                self._end(next(iter(entries)), "expired")

    def reserve(self, gang: str, pods: Iterable[Pod], seconds: float) -> None:
        """Keep room for these members of the gang on the nodes that they name.

        Instead of what was reserved for it before, and no longer than that would have lasted.
        """
        with self._lock:
            self._expire()
            before = {uid: each for uid, each in self._hard.items() if each.gang == gang}
            for uid in before:
                self._drop(uid)
        left = min((each.expires for each in before.values()), default=math.inf) - self._clock()
        for pod in pods:
            self.assume(pod, pod.node_name, min(seconds, left), hard=True, gang=gang)

    def forget(self, uid: str) -> None:
        """The pod was not bound after all."""
        with self._lock:
            self._drop(uid)

    def delete(self, uid: str) -> None:
        """The pod is gone."""
        if self.find(uid) is not None:
            with self._lock:
                self._end(uid, "deleted")

    def confirm(self, pod: Pod, generation: int) -> None:
        """The watch has brought the pod's binding, which snapshots have from this generation on."""
        if self.find(pod.uid) is not None:
            with self._lock:
                self._seen[pod.uid] = generation

    def find(self, uid: str) -> AssumedPod | None:
        return self._hard.get(uid) or self._soft.get(uid)

    def promised(self, snapshot: Snapshot, pod: Pod) -> Sequence[AssumedPod]:
        """The hard entries that this pod is to see: not its own, nor room reserved for its gang."""
        if not self._hard:
            return ()
        own = gang_key(pod)
        return [
            each
            for uid, each in self._current(snapshot, self._hard)
            if uid != pod.uid and not (each.gang and each.gang == own)
        ]

    def expected(self, snapshot: Snapshot, pod: Pod) -> Sequence[Pod]:
        """The soft entries, as pods on their nodes."""
        if not self._soft:
            return ()
        return [each.pod for uid, each in self._current(snapshot, self._soft) if uid != pod.uid]

    def overlay(self, snapshot: Snapshot, pod: Pod) -> Snapshot:
        """The snapshot with what others were promised; the same object for pods that see the same."""
        entries = self.promised(snapshot, pod)
        if not entries:
            return snapshot
        key = (pod.uid if pod.uid in self._hard else "", gang_key(pod))
        if self._overlaid != (snapshot, self._version):
            self._overlays.clear()
            self._overlaid = (snapshot, self._version)
        if key not in self._overlays:
            self._overlays[key] = snapshot.with_pods(each.pod for each in entries)
        return self._overlays[key]

    def _current(
        self, snapshot: Snapshot, entries: dict[str, AssumedPod]
    ) -> Iterable[tuple[str, AssumedPod]]:
        """Without those that the snapshot has, and those that expired."""
        with self._lock:
            for uid, generation in list(self._seen.items()):
                if generation <= snapshot.generation:
                    self._end(uid, "confirmed" if self._is_there(uid, snapshot) else "elsewhere")
            self._expire()
            return list(entries.items())

    def _is_there(self, uid: str, snapshot: Snapshot) -> bool:
        entry = self.find(uid)
        known = snapshot.nodes.cluster.roster.find(str(entry.pod)) if entry else None
        return entry is not None and known is not None and known.node_name == entry.pod.node_name

    def _expire(self) -> None:
        now = self._clock()
        if now < self._next_expiry:
            return
        every = {**self._hard, **self._soft}
        for uid, each in every.items():
            if each.expires <= now:
                self._end(uid, "expired")
        left = (each.expires for each in every.values() if each.expires > now)
        self._next_expiry = min(left, default=math.inf)

    def _end(self, uid: str, outcome: str) -> None:
        entry = self.find(uid)
        if entry is not None:
            self.observe(entry, outcome)
            self._drop(uid)

    def _drop(self, uid: str) -> None:
        self._version += 1
        for entries in (self._hard, self._soft, self._seen):
            entries.pop(uid, None)


def gang_key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.gang}" if pod.gang else ""
