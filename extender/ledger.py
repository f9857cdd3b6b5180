"""Pods that were sent to one node and are not seen there yet, and the room that gangs wait for.

kube-scheduler asks about the next pod before our watch brings the binding of the last. Whoever counts other
pods would count wrong in between. So a pod whose place matters to others is sent to one node, the best, and
counts as there from then on: until the watch says so, the pod is asked about again, or a while is over.

A pod that nobody was known to look at is sent nowhere. If a pod that it conflicts with comes right after it,
that one waits for its binding.

What is kept is known to this process alone. After a restart, or where kube-scheduler asks another replica, it
is as if it were empty.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from scoring.filters import conflicts
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Snapshot

# A binding takes milliseconds; volumes may take longer, but then nobody knows how long.
_SENT_SECONDS = 10.0
# The other members of a gang are woken by the first that is bound, after a back-off of 10 s at most.
_RESERVED_SECONDS = 30.0
# From the answer about a pod to its binding in our watch, mostly; and how many such pods are looked through.
_PASSED_SECONDS = 1.0
_MAX_PASSED = 256

_COUNTED = (hints.ONE_PER_NODE, hints.MAX_PER_ZONE, hints.XOR)


class _Sent(NamedTuple):
    pod: Pod  # as on the node, if it was sent to one
    until: float


class _Reserved(NamedTuple):
    pods: tuple[Pod, ...]  # as on their nodes
    until: float


class Ledger:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent: dict[str, _Sent] = {}  # by UID
        self._reserved: dict[tuple[str, str], _Reserved] = {}  # by the gang's namespace and name
        self._passed: dict[str, _Sent] = {}  # by UID, in order; to which node is not known
        self._snapshot: Snapshot | None = None
        self._views: dict[tuple[tuple[str, str], str], Snapshot] = {}  # of that one, by gang and pod

    def __bool__(self) -> bool:
        return bool(self._sent or self._reserved)

    def view(self, snapshot: Snapshot, pod: Pod) -> Snapshot:
        """The cluster as the pod is to see it: with all that others were promised."""
        self._settle(snapshot)
        own = _gang(pod)
        key = (own, pod.uid if pod.uid in self._sent else "")
        view = self._views.get(key)
        if view is None:
            gone = self._sent.keys() | {pod.uid}
            promised = [each.pod for uid, each in self._sent.items() if uid != pod.uid]
            for gang, reserved in self._reserved.items():
                if gang != own:
                    promised += [each for each in reserved.pods if each.uid not in gone]
            view = self._views[key] = snapshot.with_pods(promised)
        return view

    def send(self, pod: Pod, node_name: str) -> None:
        placed = msgspec.structs.replace(pod, node_name=node_name)
        self._sent[pod.uid] = _Sent(placed, self._clock() + _SENT_SECONDS)
        self._views.clear()

    def pass_on(self, pod: Pod) -> None:
        """kube-scheduler chooses among several nodes, and does not say which."""
        self._passed.pop(pod.uid, None)
        self._passed[pod.uid] = _Sent(pod, self._clock() + _PASSED_SECONDS)
        if len(self._passed) > _MAX_PASSED:
            del self._passed[next(iter(self._passed))]

    def missed(self, pod: Pod, roster: Roster) -> list[Pod]:
        """The pods that it conflicts with, passed on a moment ago and not seen on a node yet."""
        if hints.CONFLICTS not in pod.annotations or not self._passed:
            return []
        now, patterns = self._clock(), hints.readable(pod).conflicts
        self._passed = {
            uid: each
            for uid, each in self._passed.items()
            if uid != pod.uid and each.until > now and not seen(each.pod, roster)
        }
        return [each.pod for each in self._passed.values() if hints.named(patterns, each.pod)]

    def drop(self, pod: Pod) -> None:
        """It was asked about again, and found no node."""
        if self._sent.pop(pod.uid, None) is not None:
            self._views.clear()

    def reserve(self, pod: Pod, others: Iterable[Pod]) -> None:
        """Room for the members of the pod's gang that were not asked about yet; for no longer than once."""
        pods, known = tuple(others), self._reserved.get(_gang(pod))
        until = known.until if known else self._clock() + _RESERVED_SECONDS
        self._reserved[_gang(pod)] = _Reserved(pods, until)
        if not pods:
            del self._reserved[_gang(pod)]
        self._views.clear()

    def _settle(self, snapshot: Snapshot) -> None:
        """Forget what has come true, and what took too long."""
        now, roster = self._clock(), snapshot.nodes.cluster.roster
        sent = {
            uid: each for uid, each in self._sent.items() if each.until > now and not seen(each.pod, roster)
        }
        reserved: dict[tuple[str, str], _Reserved] = {}
        for gang, each in self._reserved.items():
            pods = tuple(pod for pod in each.pods if not seen(pod, roster))
            if pods and each.until > now:
                reserved[gang] = _Reserved(pods, each.until)
        if snapshot is not self._snapshot or (sent, reserved) != (self._sent, self._reserved):
            self._views.clear()
        self._snapshot, self._sent, self._reserved = snapshot, sent, reserved


def matters(pod: Pod, roster: Roster) -> bool:
    """Whether a rule of another pod looks at where this one is."""
    if pod.gang or any(key in pod.annotations for key in _COUNTED):
        return True
    return any(roster.followers(str(pod))) or conflicts.concerns(pod, roster)


def seen(pod: Pod, roster: Roster) -> bool:
    """Whether the watch has brought its binding."""
    known = roster.find(str(pod))
    return known is not None and known.uid == pod.uid


def _gang(pod: Pod) -> tuple[str, str]:
    return (pod.namespace, pod.gang) if pod.gang else ("", "")
