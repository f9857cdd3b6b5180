"""Gangs that stood whole and lost a member: the rest is told, and evicted where the settings say so.

A member that ended well is no loss: then the gang is done, and no longer looked at. Which gangs stood is
known to the leader that saw it; a new one begins with what it sees.
"""

from collections.abc import Callable
from typing import NamedTuple

from scoring.gangs import gang_size
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import GANG


class Loss(NamedTuple):
    gang: str  # namespace/name
    lost: tuple[str, ...]  # pods, as namespace/name
    left: tuple[Pod, ...]  # members on nodes
    size: int

    @property
    def text(self) -> str:
        gone = f"{self.lost[0]} and {len(self.lost) - 1} more are" if self.lost[1:] else f"{self.lost[0]} is"
        return f"{gone} gone from gang {self.gang}: {len(self.left)} of {self.size} pods are left"


class GangLosses:
    def __init__(self, cache: Cache, ended_well: Callable[[Pod], bool]) -> None:
        """`ended_well` of a pod that is no longer there or has ended: whether its work is done."""
        self._cache = cache
        self._ended_well = ended_well
        self._stood: dict[str, dict[str, Pod]] = {}  # by gang, its members on nodes by UID

    def look(self) -> list[Loss]:
        """Each loss once."""
        circles = self._cache.snapshot().nodes.cluster.roster.circles
        gangs = {circle.name: pods for circle, pods in circles.items() if circle.hint == GANG}
        losses: list[Loss] = []
        for name in list(self._stood):
            there = {pod.uid: pod for pod in gangs.get(name, {}).values() if _placed(pod)}
            gone = [pod for uid, pod in self._stood[name].items() if uid not in there]
            if not gone:
                continue
            known = self._stood.pop(name)
            size = gang_size(known.values()) or len(known)
            if len(there) >= size or any(self._ended_well(pod) for pod in gone):
                continue
            if there:
                losses.append(Loss(name, tuple(map(str, gone)), tuple(there.values()), size))
        for name, pods in gangs.items():
            there = {pod.uid: pod for pod in pods.values() if _placed(pod)}
            size = gang_size(pods.values())
            if there and (len(there) >= size if size else len(there) == len(pods)):
                self._stood[name] = there
        return losses


def _placed(pod: Pod) -> bool:
    return bool(pod.node_name) and not pod.deleting
