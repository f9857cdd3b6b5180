"""Who belongs to a gang, who of it waits, and how many of it must have a place."""

from collections.abc import Iterable
from typing import NamedTuple

from tradewind.cluster import hints
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import GANG, Roster


class Muster(NamedTuple):
    placed: int  # members on nodes, or on their way there
    waiting: tuple[Pod, ...]  # members that kube-scheduler or we may place, the oldest first
    size: int  # how many must have a place; 0 where nobody says

    def missing(self, pod: Pod) -> list[Pod] | None:
        """The pod and those that need a place with it; empty if enough have one, None if too few wait."""
        needed = max(self.size - self.placed, 0) if self.size else len(self.waiting)
        if needed > len(self.waiting):
            return None
        others = [each for each in self.waiting if each.uid != pod.uid]
        return [pod, *others[: needed - 1]] if needed else []


def muster(pod: Pod, roster: Roster) -> Muster:
    """Of the pod's gang; the pod itself waits, whatever the roster says of it."""
    members = [each for each in roster.circle(GANG, f"{pod.namespace}/{pod.gang}") if not each.deleting]
    waiting = [each for each in members if each.uid != pod.uid and not each.node_name and _free(each)]
    placed = sum(1 for each in members if each.node_name and each.uid != pod.uid)
    return Muster(
        placed,
        tuple(sorted([pod, *waiting], key=lambda each: (each.created, each.name))),
        gang_size([pod, *members]),
    )


def gang_size(members: Iterable[Pod]) -> int:
    """The largest that any member asks for."""
    return max((hints.readable(each).gang_min for each in members), default=0)


def _free(pod: Pod) -> bool:
    """Held by nobody, or by us alone: nobody knows when another gate opens."""
    return all(gate.startswith(ANNOTATION_PREFIX) for gate in pod.gates)
