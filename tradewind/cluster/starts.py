"""How pods start on their nodes: watches of those that are bound and pending, and of those that failed.

Apart from the watches of the cluster state, which do not carry what containers do: without these, everything
else goes on.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

import msgspec

from tradewind.cluster.cache import Cache
from tradewind.cluster.in_use import NODES_OWN
from tradewind.cluster.interning import InterningDecoder
from tradewind.cluster.wire import NULL, Metadata, OwnerReference
from tradewind.errors import UnreadableObjectError
from tradewind.kube.objects import UNREADABLE
from tradewind.kube.watch import Resource

# Reasons of a container that waits. All others, such as ImagePullBackOff, are nobody's or the pod's own.
_NODE_FAULTS = frozenset({"CreateContainerError", "RunContainerError"})
_PENDING_FAULTS = frozenset({"", "ContainerCreating", "PodInitializing"})
# Reasons of a pod that its kubelet did not admit.
_REJECTIONS = frozenset({"OutOfcpu", "OutOfmemory", "NodeAffinity", "UnexpectedAdmissionError", "Evicted"})

_LIMIT_SECONDS = 600.0
# By then all watches have told how a pod ceased to be pending.
_SETTLE_SECONDS = 5.0
_MAX_LEFT = 10_000


class Progress(StrEnum):
    WAITING = "waiting"
    STARTED = "started"
    FAILED = "failed"
    EXCUSED = "excused"  # not the node's fault


class Start(NamedTuple):
    uid: str
    node: str
    progress: Progress


class Outcome(NamedTuple):
    node: str
    failed: bool
    seconds: float = 0.0  # from being bound to running


class _Waiting(msgspec.Struct, gc=False):
    reason: str | None = None


class _State(msgspec.Struct, gc=False):
    waiting: _Waiting | None = None
    running: msgspec.Raw = NULL
    terminated: msgspec.Raw = NULL


class _Container(msgspec.Struct, gc=False):
    state: _State | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    node_name: str | None = None


class _Status(msgspec.Struct, rename="camel", gc=False):
    phase: str | None = None
    reason: str | None = None
    container_statuses: list[_Container] | None = None
    init_container_statuses: list[_Container] | None = None


class _Pod(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: _Spec | None = None
    status: _Status | None = None


_decoder = msgspec.json.Decoder(_Pod)


def _of_node(owners: Iterable[OwnerReference] | None) -> bool:
    """Such pods start with the node, whatever else is not ready there yet."""
    return any(owner.kind in NODES_OWN for owner in owners or ())


_read_of_node = InterningDecoder(tuple[OwnerReference, ...], _of_node, "metadata.ownerReferences")


def read_start(data: bytes | msgspec.Raw) -> Start:
    try:
        return _made(_decoder.decode(data))
    except UNREADABLE as error:
        raise UnreadableObjectError(f"{error} in a pod that starts") from error


def _made(pod: _Pod) -> Start:
    spec, status = pod.spec or _Spec(), pod.status or _Status()
    of_node = _read_of_node(pod.metadata.owner_references)
    return Start(
        uid=pod.metadata.uid or "",
        node=spec.node_name or "",
        progress=Progress.EXCUSED if of_node else _progress(status),
    )


def _progress(status: _Status) -> Progress:
    if status.phase == "Failed":
        return Progress.FAILED if status.reason in _REJECTIONS else Progress.EXCUSED
    containers = [*(status.init_container_statuses or ()), *(status.container_statuses or ())]
    states = [container.state for container in containers if container.state is not None]
    reasons = {state.waiting.reason or "" for state in states if state.waiting is not None}
    if reasons & _NODE_FAULTS:
        return Progress.FAILED
    if any(bytes(part) != b"null" for state in states for part in (state.running, state.terminated)):
        return Progress.STARTED
    return Progress.WAITING if reasons <= _PENDING_FAULTS else Progress.EXCUSED


class _Bound(NamedTuple):
    node: str
    at: float


class _Left(NamedTuple):
    node: str
    seconds: float
    at: float


class StartWatch:
    """Fed by the threads of two watches; `take` is for one caller."""

    def __init__(self, cache: Cache, clock: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._clock = clock
        self._lock = threading.Lock()
        self._bound: dict[str, _Bound | None] = {}  # by UID, pending; None once it is known how it went
        self._left: dict[str, _Left] = {}  # no longer pending: started, failed or deleted
        self._rejected: set[str] = set()
        self._outcomes: list[Outcome] = []

    def resources(self) -> tuple[Resource, ...]:
        return (
            _bound_pods("starting pods", "Pending", self.see, self.leave, self.retain),
            _bound_pods("failed pods", "Failed", self.reject, self.forget_rejected, self.retain_rejected),
        )

    def take(self) -> Sequence[Outcome]:
        """How starts went that are newly known."""
        now = self._clock()
        with self._lock:
            due = {uid: left for uid, left in self._left.items() if now - left.at >= _SETTLE_SECONDS}
            late = {
                uid: bound
                for uid, bound in self._bound.items()
                if bound is not None and now - bound.at >= _LIMIT_SECONDS
            }
            outcomes, self._outcomes = self._outcomes, []
            outcomes += [Outcome(bound.node, failed=True) for bound in late.values()]
            outcomes += [Outcome(due[uid].node, failed=True) for uid in due.keys() & self._rejected]
            started = due.keys() - self._rejected
            self._bound |= dict.fromkeys(late)
            for uid in due:
                del self._left[uid]
        # One that is gone meanwhile was deleted, or has ended for reasons of its own.
        alive = [pod.uid for pod in self._cache.pods(started) if not (pod.deleting or pod.finished)]
        return outcomes + [Outcome(due[uid].node, failed=False, seconds=due[uid].seconds) for uid in alive]

    def see(self, start: Start) -> None:
        with self._lock:
            bound = self._bound.setdefault(start.uid, _Bound(start.node, self._clock()))
            if bound is None or start.progress is Progress.WAITING:
                return
            self._bound[start.uid] = None
            if start.progress is not Progress.EXCUSED:
                failed = start.progress is Progress.FAILED
                self._note(Outcome(bound.node, failed, 0.0 if failed else self._clock() - bound.at))

    def leave(self, uid: str) -> None:
        with self._lock:
            bound = self._bound.pop(uid, None)
            if bound is not None and len(self._left) < _MAX_LEFT:
                now = self._clock()
                self._left[uid] = _Left(bound.node, now - bound.at, now)

    def retain(self, uids: Iterable[str]) -> None:
        """Nobody saw how the others ceased to be pending, nor when."""
        kept = set(uids)
        with self._lock:
            self._bound = {uid: bound for uid, bound in self._bound.items() if uid in kept}

    def reject(self, start: Start) -> None:
        if start.progress is Progress.FAILED:
            with self._lock:
                self._rejected.add(start.uid)

    def forget_rejected(self, uid: str) -> None:
        with self._lock:
            self._rejected.discard(uid)

    def retain_rejected(self, uids: Iterable[str]) -> None:
        with self._lock:
            self._rejected.intersection_update(uids)

    def _note(self, outcome: Outcome) -> None:
        if len(self._outcomes) < _MAX_LEFT:
            self._outcomes.append(outcome)


def _bound_pods(
    name: str,
    phase: str,
    apply: Callable[[Start], None],
    remove: Callable[[str], None],
    retain: Callable[[Iterable[str]], None],
) -> Resource:
    return Resource(
        name=name,
        path="pods",
        key=attrgetter("uid"),
        read=read_start,
        kind=_Pod,
        make=_made,
        apply=apply,
        remove=remove,
        retain=retain,
        batch=_batch,
        selection={"field_selector": f"status.phase={phase},spec.nodeName!="},
    )


@contextmanager
def _batch() -> Iterator[None]:
    yield
