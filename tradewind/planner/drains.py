"""Which nodes can be emptied: running pods are moved to other nodes in use, whole nodes or nothing.

A drain set is one node and all the moves that empty it. The sets are in an order in which they can be carried
out: room on a target is there before its pod leaves, is deducted once, and a node that took pods is not
emptied itself. Each move is one that every rule of kube-scheduler and of the pod's policy accepts.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec
import numpy as np

from tradewind.cluster import hints
from tradewind.cluster.budgets import Budget
from tradewind.cluster.in_use import is_occupying, is_using
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import keepers
from tradewind.planner.batch import Batch, PolicyOf, make_batch
from tradewind.planner.emptying import STRATEGIES, Emptying
from tradewind.planner.keepers import Keeper, Keepers, Limits
from tradewind.planner.problem import Assignment, Problem
from tradewind.planner.rent import NO_RENT, Rent
from tradewind.planner.terms import Group


class Move(NamedTuple):
    pod: Pod  # as it is now
    target: str


class DrainSet(NamedTuple):
    node: str
    price: float  # dollars an hour that end with it, NaN where unknown
    moves: tuple[Move, ...]


class Kept(NamedTuple):
    """Why a node stays."""

    keeper: Keeper
    pods: tuple[str, ...]  # namespace/name of those that keep it; none where the node itself is kept


@dataclass(frozen=True, kw_only=True, eq=False)
class Drains:
    """Every node is in one of the four; `pods` are all of the cluster, where they are afterwards."""

    sets: tuple[DrainSet, ...]
    empty: tuple[str, ...]  # already: nothing on them but what every node has
    kept: Mapping[str, Kept]
    full: tuple[str, ...]  # there is no room elsewhere for their pods, or none that would save anything
    pods: tuple[Pod, ...]


class Movable(NamedTuple):
    """The pods that may be moved as a problem, and how it is solved now: for a lower bound."""

    problem: Problem
    assignment: Assignment


def drains(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    budgets: Sequence[Budget] = (),
    *,
    limits: Limits | None = None,
    unbound: Collection[str] = (),
    rent: Rent = NO_RENT,
) -> Drains:
    """`unbound` are UIDs of pods that are only planned: they go elsewhere without being moved.

    `rent` is what room costs.
    """
    cluster = _Cluster(snapshot, pods, budgets, limits or Limits(), frozenset(unbound))
    batch, assignment, at = cluster.batch(policy_of, rent)
    emptying = Emptying(batch.problem, assignment, snapshot.nodes.cluster.table.rows(cluster.open))
    best = max((emptying.run(strategy) for strategy in STRATEGIES), key=lambda found: found.worth)
    names, price = batch.problem.node_names, snapshot.nodes.price
    proposed = []
    for row, steps in best.emptied:
        moves = [Move(at[index, row].pop(), names[target]) for index, target, n in steps for _ in range(n)]
        proposed.append(DrainSet(names[row], float(price[row]), tuple(moves)))
    sets, after = _carried_out(snapshot, proposed, policy_of)
    gone = {each.node for each in sets}
    return Drains(
        sets=tuple(
            each._replace(moves=tuple(m for m in each.moves if m.pod.uid not in unbound)) for each in sets
        ),
        empty=tuple(cluster.empty),
        kept=cluster.kept,
        full=tuple(name for name in (*cluster.open, *cluster.unplanned) if name not in gone),
        pods=tuple(msgspec.structs.replace(p, node_name=after[p.uid]) if p.uid in after else p for p in pods),
    )


def movable(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    budgets: Sequence[Budget] = (),
    *,
    limits: Limits | None = None,
    unbound: Collection[str] = (),
) -> Movable:
    """Of the same; what is now counts as possible, even where it breaks a rule."""
    cluster = _Cluster(snapshot, pods, budgets, limits or Limits(), frozenset(unbound))
    batch, assignment, _ = cluster.batch(policy_of)
    problem = batch.problem
    classes = list(problem.classes)
    load = np.zeros_like(problem.free)
    for (index, row), count in assignment.items():
        load[:, row] += count * classes[index].requests
        if not classes[index].allowed[row]:
            allowed = classes[index].allowed.copy()
            allowed[row] = True
            classes[index] = replace(classes[index], allowed=allowed)
    return Movable(replace(problem, classes=tuple(classes), free=np.maximum(problem.free, load)), assignment)


class _Cluster:
    """The nodes in three parts: empty already, kept, and open to be emptied."""

    def __init__(
        self,
        snapshot: Snapshot,
        pods: Sequence[Pod],
        budgets: Sequence[Budget],
        limits: Limits,
        unbound: frozenset[str],
    ) -> None:
        self._snapshot, self._pods = snapshot, pods
        of_pods = Keepers(snapshot, pods, budgets, limits)
        self._on: dict[str, list[Pod]] = defaultdict(list)
        keeping: dict[str, list[tuple[Keeper, Pod]]] = defaultdict(list)
        for pod in pods:
            if pod.node_name not in snapshot.row_of or not is_using(pod):
                continue
            self._on[pod.node_name].append(pod)
            keeper = of_pods.of_planned(pod) if pod.uid in unbound else of_pods.of_pod(pod)
            if keeper is not None:
                keeping[pod.node_name].append((keeper, pod))
        self.open: list[str] = []
        self.unplanned: list[str] = []  # open, but with pods that no plan is made for
        self.empty: list[str] = []
        self.kept: dict[str, Kept] = {}
        occupied = {pod.node_name for pod in pods if is_occupying(pod)}
        table, leaving = snapshot.nodes.cluster.table, snapshot.nodes.cluster.leaving
        for node, leaves in zip(table.nodes, leaving.tolist(), strict=True):
            own = keepers.of_node(node, leaving=leaves)
            if own is not None and own not in limits.overruled:
                self.kept[node.name] = Kept(own, ())
            elif node.name in limits.nodes:
                self.kept[node.name] = Kept(Keeper.COOLING, ())
            elif node.name in keeping:
                first = min((keeper for keeper, _ in keeping[node.name]), key=list(Keeper).index)
                named = tuple(str(pod) for keeper, pod in keeping[node.name] if keeper is first)
                self.kept[node.name] = Kept(first, named)
            elif node.name in self._on:
                self.open.append(node.name)
            elif node.name in occupied:
                self.kept[node.name] = Kept(Keeper.TERMINATING, ())
            else:
                self.empty.append(node.name)

    def batch(
        self, policy_of: PolicyOf, rent: Rent = NO_RENT
    ) -> tuple[Batch, Assignment, dict[tuple[int, int], list[Pod]]]:
        """The pods of open nodes as if they waited, where they are now, and which by class and row."""
        while (batch := self._batch(policy_of, rent)).refused:
            unplanned = {name for name in self.open for pod in self._on[name] if str(pod) in batch.refused}
            if not unplanned:
                break
            self.unplanned += sorted(unplanned)
            self.open = [name for name in self.open if name not in unplanned]
        moving = {pod.uid: pod for name in self.open for pod in self._on[name]}
        at: dict[tuple[int, int], list[Pod]] = defaultdict(list)
        row_of = self._snapshot.row_of
        for index, group in enumerate(batch.groups):
            for pod in group.pods:
                at[index, row_of[moving[pod.uid].node_name]].append(moving[pod.uid])
        return batch, {key: len(found) for key, found in at.items()}, at

    def _batch(self, policy_of: PolicyOf, rent: Rent) -> Batch:
        moving = {pod.uid: pod for name in self.open for pod in self._on[name]}
        staying = [pod for pod in self._pods if pod.node_name and pod.uid not in moving]
        waiting = [msgspec.structs.replace(pod, node_name="") for pod in moving.values()]
        return make_batch(self._snapshot.without(moving.values()), [*staying, *waiting], policy_of, rent=rent)


def _carried_out(
    snapshot: Snapshot, proposed: Sequence[DrainSet], policy_of: PolicyOf
) -> tuple[list[DrainSet], dict[str, str]]:
    """The sets of which every move is accepted, one after another, by the filters themselves; UID to node."""
    done: list[DrainSet] = []
    after: dict[str, str] = {}
    for each in proposed:
        moved = carried_out(snapshot, each.moves, policy_of)
        if moved is not None:
            snapshot = moved
            done.append(each)
            after |= {move.pod.uid: move.target for move in each.moves}
    return done, after


def carried_out(snapshot: Snapshot, moves: Sequence[Move], policy_of: PolicyOf) -> Snapshot | None:
    """The cluster after these moves; None where a rule does not accept one of them."""
    snapshot = snapshot.without(move.pod for move in moves)
    for move in moves:
        waiting = msgspec.structs.replace(move.pod, node_name="")
        row = snapshot.row_of.get(move.target)
        if row is None:
            return None
        nodes = snapshot.nodes.take(np.array([row]))
        rules = Group([waiting], policy_of(waiting), hints.NONE).filters()
        if not all(rule.feasible(waiting, nodes).all() for rule in rules):
            return None
        snapshot = snapshot.with_pods([msgspec.structs.replace(move.pod, node_name=move.target)])
    return snapshot
