import time
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from scoring.gangs import Muster, muster, needs_gang
from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes, no_nodes
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes


@dataclass(frozen=True)
class Gang(Hint, PodFilter):
    """No node, while too few pods of the pod's gang exist and none of it has been on a node.

    Where nobody says how many there must be, all that exist count, as soon as the newest of them has been
    there for `settle_seconds`. Whether there is room for all of them is looked at where the request is
    answered (`tradewind.planner.gang_room`), because that takes all other rules.
    """

    name: ClassVar[str] = "gang"
    reason: ClassVar[str] = "node(s) were closed to a gang of which too few pods exist"
    resolvable: ClassVar[bool] = False  # evicting others makes no member

    settle_seconds: float = 3.0

    def __post_init__(self) -> None:
        if not 0 <= self.settle_seconds <= 600:  # noqa: PLR2004  ten minutes
            raise ValueError(f"settle_seconds: {self.settle_seconds} is not within 0 and 600")

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not needs_gang(pod, nodes.cluster.roster):
            return all_nodes(len(nodes))
        gang = muster(pod, nodes.cluster.roster)
        complete = gang.missing(pod) is not None and (gang.size or self._settled(gang))
        return all_nodes(len(nodes)) if complete else no_nodes(len(nodes))

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        """The planner knows gangs itself."""

    def _settled(self, gang: Muster) -> bool:
        try:
            newest = max(datetime.fromisoformat(each.created).timestamp() for each in gang.waiting)
        except ValueError:  # of a file, or odd: there is nothing to wait for
            return True
        # One of them in the future, by our clock: that is behind, and would close the gang for as long.
        return abs(time.time() - newest) >= self.settle_seconds
