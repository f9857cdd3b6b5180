"""Who belongs to a gang, who of it waits, and how many of it must have a place."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tradewind.cluster import hints
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import GANG, Roster


class Muster(NamedTuple):
    waiting: tuple[Pod, ...]  # members that kube-scheduler or we may place, the oldest first
    size: int  # how many must have a place; 0 where nobody says

    def missing(self, pod: Pod) -> list[Pod] | None:
        """The pod and those that need a place with it; None if too few wait."""
        needed = self.size or len(self.waiting)
        if needed > len(self.waiting):
            return None
        others = [each for each in self.waiting if each.uid != pod.uid]
        return [pod, *others[: needed - 1]]


def needs_gang(pod: Pod, roster: Roster) -> bool:
    """Whether the pod has a place only together with others: its gang was never placed before.

    Later members are placed alone: the last pods of a Job, or one that is started again.
    """
    return bool(pod.gang) and not roster.has_started(pod)


def without_gang(pod: Pod, roster: Roster) -> Pod:
    """The pod as one of no gang, once it no longer needs it."""
    return msgspec.structs.replace(pod, gang="") if pod.gang and not needs_gang(pod, roster) else pod


def muster(pod: Pod, roster: Roster) -> Muster:
    """Of a gang that was never placed; the pod itself waits, whatever the roster says of it."""
    members = [each for each in roster.circle(GANG, f"{pod.namespace}/{pod.gang}") if not each.deleting]
    waiting = [each for each in members if each.uid != pod.uid and not each.node_name and _free(each)]
    return Muster(
        tuple(sorted([pod, *waiting], key=lambda each: (each.created, each.name))),
        gang_size([pod, *members]),
    )


def gang_size(members: Iterable[Pod]) -> int:
    """The largest that any member asks for."""
    return max((hints.readable(each).gang_min for each in members), default=0)


def _free(pod: Pod) -> bool:
    """Held by nobody, or by us alone: nobody knows when another gate opens."""
    return all(gate.startswith(ANNOTATION_PREFIX) for gate in pod.gates)
