"""Whether the whole gang of a pod has room at once: asked for each member that no fresh plan speaks of.

The missing members are placed as a plan would place them, by every rule that holds for them, by the greedy
engine alone. It takes milliseconds, and its answer serves all members until the cluster changes.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np

from scoring.filters.gang import Gang
from scoring.gangs import muster, needs_gang
from scoring.policy import Policy
from scoring.rules import Mask, all_nodes, no_nodes
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Cluster, Nodes, Snapshot
from tradewind.planner.batch import PolicyOf, make_batch
from tradewind.planner.deadline import is_over
from tradewind.planner.greedy import fill
from tradewind.planner.problem import Problem
from tradewind.planner.relations.attraction import Attraction
from tradewind.planner.state import State

# In each of which a gang that wants to be together is tried, at most.
_DOMAINS = 64
# Half of what an answer may take. A gang that takes longer is placed pod by pod.
_SECONDS = 0.25


class Stand(NamedTuple):
    """A way in which all missing members fit."""

    rows: Mapping[str, int]  # by UID, of the cluster's table
    anywhere: Mask | None  # (N,) where any of them may be: they are all alike, and nothing ties them


class GangRoom:
    """What was found for the newest state of the cluster."""

    def __init__(self, policy_of: PolicyOf) -> None:
        self._policy_of = policy_of
        self._cluster: Cluster | None = None
        self._found: dict[frozenset[str], Stand | None] = {}

    def stand(self, missing: Sequence[Pod], nodes: Nodes) -> Stand | None:
        if nodes.cluster is not self._cluster:
            self._cluster = nodes.cluster
            self._found.clear()
        key = frozenset(pod.uid for pod in missing)
        if key not in self._found:
            self._found[key] = stand(missing, nodes, self._policy_of)
        return self._found[key]


@dataclass(frozen=True)
class WholeGangFits:
    """The node is one on which the pod leaves room for all other members that its gang needs."""

    name: ClassVar[str] = "gang_room"
    reason: ClassVar[str] = "node(s) didn't have room for the pod's whole gang at once"
    resolvable: ClassVar[bool] = False  # room for this pod alone would not help it

    room: GangRoom

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        if not needs_gang(pod, nodes.cluster.roster):
            return all_nodes(len(nodes))
        missing = muster(pod, nodes.cluster.roster).missing(pod)
        found = self.room.stand(missing, nodes) if missing else None
        if found is None:
            return no_nodes(len(nodes))
        if found.anywhere is not None:
            return found.anywhere.take(nodes.rows)
        return np.equal(nodes.rows, found.rows[pod.uid])

    def others(self, pod: Pod, node_name: str, nodes: Nodes) -> list[Pod]:
        """The other missing members on the nodes that are left for them, once the pod is on this one."""
        if not needs_gang(pod, nodes.cluster.roster):
            return []
        missing = muster(pod, nodes.cluster.roster).missing(pod)
        found = self.room.stand(missing, nodes) if missing else None
        if not missing or found is None or pod.uid not in found.rows:
            return []
        rows = dict(found.rows)
        own, taken = rows.pop(pod.uid), nodes.cluster.table.row_of[node_name]
        if own != taken:  # all alike: whoever was to be there goes where the pod would have been
            other = next((uid for uid, row in rows.items() if row == taken), None)
            if other is not None:
                rows[other] = own
        names = nodes.cluster.table.names
        return [
            msgspec.structs.replace(each, node_name=names[rows[each.uid]])
            for each in missing
            if each.uid in rows
        ]


def with_gang(policy: Policy, pod: Pod, room: GangRoom) -> Policy:
    """The policy of a pod that no fresh plan of a whole gang speaks of."""
    if not pod.gang or not any(isinstance(rule, Gang) for rule in policy.filters):
        return policy
    return replace(policy, filters=(*policy.filters, WholeGangFits(room)))


def stand(missing: Sequence[Pod], nodes: Nodes, policy_of: PolicyOf) -> Stand | None:
    """By the greedy engine; None where it finds no place for one of them.

    Any place will do where they have too much to do with each other to be planned in time.
    """
    deadline = time.monotonic() + _SECONDS
    snapshot = Snapshot(generation=0, nodes=_all_nodes(nodes))
    # Alone, none of them is of a gang: that all find a place is looked at below.
    singles = [msgspec.structs.replace(pod, gang="", gates=()) for pod in missing]
    batch = make_batch(
        snapshot, [*_named(missing, nodes.cluster.roster), *singles], policy_of, seconds=_SECONDS
    )
    problem = batch.problem
    unplanned = Stand({}, all_nodes(len(nodes.cluster.table)))
    if batch.late:
        return unplanned
    if batch.refused or problem.pods < len(singles):
        return None
    alone = len(problem.classes) == 1 and not problem.relations
    anywhere = State(problem).room(0) > 0 if alone else None
    found = (fill(State(each), deadline=deadline).assignment for each in _attempts(problem, deadline))
    assignment = next((each for each in found if sum(each.values()) == len(singles)), None)
    if assignment is None:
        return unplanned if is_over(deadline) else None
    rows: dict[str, int] = {}
    taken = Counter[int]()
    for (index, row), count in assignment.items():
        pods = batch.groups[index].pods[taken[index] : taken[index] + count]
        taken[index] += count
        rows |= {pod.uid: row for pod in pods}
    return Stand(rows, anywhere)


def _attempts(problem: Problem, deadline: float) -> Iterator[Problem]:
    """As it is; then, where pods want to be with each other, each domain for all of them."""
    yield problem
    for relation in problem.relations:
        if isinstance(relation, Attraction) and relation.starters:
            codes = relation.codes[0]
            for code in np.unique(codes[codes >= 0])[:_DOMAINS].tolist():
                if is_over(deadline):
                    return
                classes = [
                    replace(each, allowed=each.allowed & (codes == code))
                    if index in relation.followers
                    else each
                    for index, each in enumerate(problem.classes)
                ]
                yield replace(problem, classes=tuple(classes))


def _all_nodes(nodes: Nodes) -> Nodes:
    return Nodes(rows=nodes.columns.supply.rows, columns=nodes.columns, cluster=nodes.cluster)


def _named(pods: Sequence[Pod], roster: Roster) -> list[Pod]:
    """Pods on nodes that hints of these speak of by name: a batch asks whether they are there."""
    own = [hints.readable(pod) for pod in pods]
    names = sorted({name for each in own for name in (each.beside, each.replaces) if name})
    return [found for name in names if (found := roster.find(name)) is not None]
