"""What the plan that a pod carries means for the answers about it."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from scoring.policy import Policy
from scoring.ranking import TOP, Levels
from scoring.rules import Mask
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.note import Note, fresh, read


@dataclass(frozen=True)
class PlannedNodeOnly:
    """The node is the planned one; for the members of a gang, whom any other place would tear apart."""

    name: ClassVar[str] = "plan"
    reason: ClassVar[str] = "pod waits for the node that it is planned on, until the plan expires"
    resolvable: ClassVar[bool] = False  # evicting pods does not change the plan

    node: str

    def feasible(self, _pod: Pod, nodes: Nodes) -> Mask:
        return _named(nodes, self.node)


def fresh_note(pod: Pod) -> Note | None:
    note = read(pod)
    return note if note is not None and fresh(note, time.time()) else None


def with_plan(policy: Policy, note: Note | None) -> Policy:
    """The policy of a pod that carries a fresh note."""
    if note is None or not note.strict:
        return policy
    return replace(policy, filters=(PlannedNodeOnly(note.node), *policy.filters))


def planned_row(pod: Pod, note: Note, policy: Policy, nodes: Nodes) -> int | None:
    """Which of the nodes is the planned one; None where it is not there, or cannot take the pod by now."""
    rows = np.flatnonzero(_named(nodes, note.node))
    if not rows.size or not policy.filter(pod, nodes.take(rows)).feasible.all():
        return None
    return int(rows[0])


def boosted(count: int, row: int) -> Levels:
    """(count,) the planned node before all others, whatever the scores say."""
    levels = np.zeros(count, np.int64)
    levels[row] = TOP
    return levels


def _named(nodes: Nodes, name: str) -> Mask:
    return np.equal(nodes.rows, nodes.cluster.table.row_of.get(name, -1))
