"""Who is where by name, and which pods ask for something of other pods: placement hints and gangs.

Pods that ask for nothing cost an entry by their name and no more, so that rules may look for any pod.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.overlay_map import OverlayMap

GANG = "gang"
_STARTED = "started"

_Outer = TypeVar("_Outer", bound=Hashable)
_NOBODY: Mapping[str, Pod] = {}


class Circle(NamedTuple):
    """Pods that one hint speaks of together."""

    hint: str  # the annotation, or GANG
    name: str


class Roster(NamedTuple):
    named: OverlayMap[str, OverlayMap[str, Pod]]  # by namespace and name, pods that are on nodes
    circles: OverlayMap[Circle, OverlayMap[str, Pod]]  # by UID, pods on nodes or not
    reaching: OverlayMap[Circle, OverlayMap[str, Pod]]  # the same, whose hints speak of pods without any
    leaving: Mapping[str, Pod] = {}  # by namespace/name, pods that are taken away in this view
    finished: OverlayMap[bytes, int] = OverlayMap()  # members that have finished on a node, by run of a gang

    def find(self, name: str) -> Pod | None:
        """The pod of this namespace/name, if it is on a node."""
        namespace, _, own = name.partition("/")
        pods = self.named.find(namespace)
        return None if pods is None else pods.find(own)

    def circle(self, hint: str, name: str) -> Iterable[Pod]:
        return (self.circles.find(Circle(hint, name)) or _NOBODY).values()

    def has_started(self, pod: Pod) -> bool:
        """Whether the pod's gang has been placed before: another member is on a node, or ran on one.

        One that has finished counts for the pods of its controller only: the next run of a CronJob is a gang
        of its own.
        """
        on_nodes = self.circles.find(_started(pod)) or _NOBODY
        return len(on_nodes) > (pod.uid in on_nodes) or gang_run(pod) in self.finished

    def hostile(self, pod: Pod) -> Iterator[Pod]:
        """The pods that say that they conflict with this one."""
        if self.reaching:
            for pattern in hints.patterns_of(pod):
                yield from (self.reaching.find(Circle(hints.CONFLICTS, pattern)) or _NOBODY).values()

    def successors(self, name: str) -> Iterable[Pod]:
        """The pods that are to replace this one."""
        return (self.reaching.find(Circle(hints.REPLACES, name)) or _NOBODY).values()

    def followers(self, name: str) -> Iterable[Pod]:
        """The pods that are to be beside this one."""
        return (self.reaching.find(Circle(hints.BESIDE, name)) or _NOBODY).values()

    def changed(self, pods: Iterable[Pod], by: int) -> "Roster":
        """With these pods on the nodes that they name, or without them."""
        writer = RosterWriter(self)
        leaving = dict(self.leaving)
        for pod in pods:
            if by > 0:
                writer.add(pod)
            else:
                writer.remove(pod)
                leaving[str(pod)] = pod
        return writer.freeze()._replace(leaving=leaving)


class RosterWriter:
    """The mutable side: what was handed out is copied before it is changed."""

    def __init__(self, start: Roster | None = None) -> None:
        start = start or Roster(OverlayMap(), OverlayMap(), OverlayMap())
        self._named = _Nested(start.named)
        self._circles = _Nested(start.circles)
        self._reaching = _Nested(start.reaching)
        self._finished = start.finished
        self._frozen: Roster | None = start

    def freeze(self) -> Roster:
        if self._frozen is None:
            self._frozen = Roster(
                self._named.freeze(),
                self._circles.freeze(),
                self._reaching.freeze(),
                finished=self._finished,
            )
        return self._frozen

    def count_finished(self, run: bytes, by: int) -> None:
        self._frozen = None
        self._finished = self._finished.copy()
        self._finished.put(run, (self._finished.find(run) or 0) + by or None)

    def add(self, pod: Pod) -> None:
        if pod.finished:
            return
        if pod.node_name:
            self._frozen = None
            self._named.put(pod.namespace, pod.name, pod)
        self._put(pod, pod)

    def remove(self, pod: Pod) -> None:
        if pod.node_name:
            known = self._named.find(pod.namespace, pod.name)
            if known is not None and known.uid == pod.uid:  # not a later one of the same name
                self._frozen = None
                self._named.put(pod.namespace, pod.name, None)
        self._put(pod, None)

    def _put(self, pod: Pod, value: Pod | None) -> None:
        if not (pod.gang or pod.annotations):
            return
        for circle in _circles(pod):
            self._frozen = None
            self._circles.put(circle, pod.uid, value)
        for circle in _reaching(pod):
            self._frozen = None
            self._reaching.put(circle, pod.uid, value)


def gang_run(pod: Pod) -> bytes:
    """Of the pod's gang and controller, whose names may be of any length."""
    owner = pod.owner.uid if pod.owner else ""
    text = f"{pod.namespace}\0{pod.gang}\0{owner}"
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _started(pod: Pod) -> Circle:
    return Circle(_STARTED, f"{pod.namespace}/{pod.gang}")


def _circles(pod: Pod) -> Iterator[Circle]:
    if pod.gang and pod.node_name and not pod.deleting:
        yield _started(pod)
    if pod.gang:
        yield Circle(GANG, f"{pod.namespace}/{pod.gang}")
    if not pod.annotations:
        return
    for key in hints.PER_WORKLOAD & pod.annotations.keys():
        if pod.annotations[key] != "false":
            yield Circle(key, hints.workload(pod))
    if hints.XOR in pod.annotations and (name := hints.readable(pod).xor.name):
        yield Circle(hints.XOR, name)


def _reaching(pod: Pod) -> Iterator[Circle]:
    if hints.CONFLICTS in pod.annotations:
        yield from (Circle(hints.CONFLICTS, pattern) for pattern in hints.readable(pod).conflicts)
    if hints.REPLACES in pod.annotations and (name := hints.readable(pod).replaces):
        yield Circle(hints.REPLACES, name)
    if hints.BESIDE in pod.annotations and (name := hints.readable(pod).beside):
        yield Circle(hints.BESIDE, name)


class _Nested(Generic[_Outer]):
    """Pods by two keys; no outer key without any."""

    def __init__(self, start: OverlayMap[_Outer, OverlayMap[str, Pod]]) -> None:
        self._maps = start
        # Changed since the last hand-out: nobody else holds these, nor then `_maps`.
        self._owned: dict[_Outer, OverlayMap[str, Pod]] = {}

    def freeze(self) -> OverlayMap[_Outer, OverlayMap[str, Pod]]:
        self._owned.clear()
        return self._maps

    def find(self, outer: _Outer, inner: str) -> Pod | None:
        pods = self._maps.find(outer)
        return None if pods is None else pods.find(inner)

    def put(self, outer: _Outer, inner: str, value: Pod | None) -> None:
        if not self._owned:
            self._maps = self._maps.copy()
        pods = self._owned.get(outer)
        if pods is None:
            known = self._maps.find(outer)
            pods = self._owned[outer] = OverlayMap() if known is None else known.copy()
            self._maps.put(outer, pods)
        pods.put(inner, value)
        if not pods:
            self._maps.put(outer, None)
            del self._owned[outer]
