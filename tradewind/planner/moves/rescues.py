"""Moves for safety: off nodes with a termination notice, and onto durable nodes where those are due.

They need not save anything, and never lead to a worse place: a node that stays is better than one that
leaves, and of those that stay a durable one is better than a spot node.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from scoring.pod_filter import PodFilter
from scoring.policy import Policy
from scoring.scorers.workload_priority import WorkloadPriority
from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import PolicyOf, make_batch
from tradewind.planner.drains import DrainSet, Move, carried_out
from tradewind.planner.greedy import greedy
from tradewind.planner.moves.causes import Cause
from tradewind.planner.problem import Mask
from tradewind.planner.rent import NO_RENT, Rent

# Of one look, so that it does not take long: what is left over comes with the next.
_MAX_UNITS = 50


class Rescue(NamedTuple):
    cause: Cause
    chosen: DrainSet  # of what leaves one node, or restores one floor; it saves nothing


class Terms(NamedTuple):
    """Who may be moved for what."""

    causes: frozenset[Cause]
    movable: Callable[[Cause, Pod], bool]
    affordable: Callable[[Sequence[Pod]], bool]  # by the budgets


def better(snapshot: Snapshot, source: str) -> Mask:
    """(N,) nodes that are safer than this one."""
    leaving, durable = snapshot.nodes.cluster.leaving, snapshot.nodes.cluster.durable
    standing = np.where(leaving, 0, 1 + durable)
    row = snapshot.row_of.get(source)
    return np.asarray(standing > (0 if row is None else standing[row]))


def rescues(
    snapshot: Snapshot, pods: Sequence[Pod], policy_of: PolicyOf, terms: Terms, *, rent: Rent = NO_RENT
) -> list[Rescue]:
    """In the order of their causes, each with the room that those before it leave.

    Of one cause, pods of higher priority have their room first, whichever set they are in.
    """
    search = _Search(snapshot, pods, policy_of, rent)
    found: list[Rescue] = []
    for cause, wanting in _WANTING.items():
        if cause not in terms.causes:
            continue
        moved = frozenset(move.pod.uid for each in found for move in each.chosen.moves)
        movable = partial(_movable, terms, cause, moved)
        sets = enumerate(wanting(snapshot, search.running(), policy_of, movable))
        units = [(number, unit) for number, each in sets for unit in each]
        moved_units: dict[int, list[list[Move]]] = defaultdict(list)
        for number, unit in sorted(units, key=lambda each: -max(pod.priority for pod in each[1])):
            if moves := search.moved(unit):
                moved_units[number].append(moves)
        for each in moved_units.values():
            affordable = _affordable(each, terms.affordable)
            chosen = DrainSet(affordable[0].pod.node_name, 0.0, tuple(affordable))
            found.append(Rescue(cause, chosen))
    return found


def _movable(terms: Terms, cause: Cause, moved: frozenset[str], pod: Pod) -> bool:
    """Nobody is in two sets."""
    return pod.uid not in moved and terms.movable(cause, pod)


Unit = Sequence[Pod]
"""Pods that are moved together or not at all."""

_Movable = Callable[[Pod], bool]


class _Search:
    def __init__(self, snapshot: Snapshot, pods: Sequence[Pod], policy_of: PolicyOf, rent: Rent) -> None:
        self._snapshot = snapshot
        self._pods = {pod.uid: pod for pod in pods}
        self._policy_of = policy_of
        self._rent = rent
        self._left = _MAX_UNITS

    def running(self) -> list[Pod]:
        """Where they are after the moves so far."""
        return [pod for pod in self._pods.values() if _runs(pod, self._snapshot)]

    def moved(self, unit: Unit) -> list[Move]:
        """Its moves, if it has a better place; their room is taken from then on."""
        if not self._left:
            return []
        self._left -= 1
        moves = self._moves(unit)
        after = carried_out(self._snapshot, moves, self._policy_of) if moves else None
        if after is None:
            return []
        self._snapshot = after
        for move in moves:
            self._pods[move.pod.uid] = msgspec.structs.replace(move.pod, node_name=move.target)
        return moves

    def _moves(self, unit: Unit) -> list[Move]:
        """To where a plan would put them; none where one of them has no better place."""
        of_unit = {pod.uid: pod for pod in unit}
        staying = [pod for pod in self._pods.values() if pod.node_name and pod.uid not in of_unit]
        waiting = [msgspec.structs.replace(pod, node_name="") for pod in unit]
        without = self._snapshot.without(unit)
        batch = make_batch(without, [*staying, *waiting], self._policy_of, rent=self._rent)
        classes = []
        for each, group in zip(batch.problem.classes, batch.groups, strict=True):
            sources = {of_unit[pod.uid].node_name for pod in group.pods}
            masks = [better(self._snapshot, source) for source in sources]
            classes.append(replace(each, allowed=np.logical_and.reduce([each.allowed, *masks])))
        problem = replace(batch.problem, classes=tuple(classes))
        queues = [list(group.pods) for group in batch.groups]
        moves = [
            Move(of_unit[queues[index].pop(0).uid], problem.node_names[row])
            for (index, row), count in greedy(problem).items()
            for _ in range(count)
        ]
        return moves if len(moves) == len(unit) else []


def _leaving(
    snapshot: Snapshot, running: Sequence[Pod], _policy_of: PolicyOf, movable: _Movable
) -> Iterator[list[Unit]]:
    """By node. A gang goes with all of its members that are on such nodes, from the first of these nodes."""
    leaving = {
        name
        for name, leaves in zip(snapshot.nodes.names, snapshot.nodes.cluster.leaving, strict=True)
        if leaves
    }
    on: dict[str, dict[str, list[Pod]]] = defaultdict(lambda: defaultdict(list))
    home: dict[str, str] = {}  # of a gang, the node with which it goes
    for pod in running:
        if pod.node_name in leaving:
            gang = pod.gang or pod.pod_group
            key = f"{pod.namespace}/{gang}" if gang else pod.uid
            on[home.setdefault(key, pod.node_name)][key].append(pod)
    for units in on.values():
        yield [unit for unit in units.values() if all(map(movable, unit))]


def _short_of_floor(
    snapshot: Snapshot, running: Sequence[Pod], policy_of: PolicyOf, movable: _Movable
) -> Iterator[list[Unit]]:
    """By workload, as many as are missing on durable nodes, the newest first."""
    workloads: dict[str, list[Pod]] = defaultdict(list)
    for pod in running:
        if pod.owner is not None:
            workloads[pod.workload].append(pod)
    for replicas in workloads.values():
        floors = [rule for rule in policy_of(replicas[0]).filters if isinstance(rule, PodFilter)]
        needed = max((rule.durable_replicas(replicas[0], len(replicas)) for rule in floors), default=0)
        exposed = [pod for pod in replicas if not _on_durable(pod, snapshot)]
        short = needed - (len(replicas) - len(exposed))
        if short > 0:
            candidates = sorted(
                filter(movable, exposed), key=lambda pod: (pod.created, pod.name), reverse=True
            )
            yield [[pod] for pod in candidates[:short]]


def _critical(
    snapshot: Snapshot, running: Sequence[Pod], policy_of: PolicyOf, movable: _Movable
) -> Iterator[list[Unit]]:
    """By node."""
    on: dict[str, list[Unit]] = defaultdict(list)
    for pod in running:
        if not _on_durable(pod, snapshot) and wants_durable(pod, policy_of(pod)) and movable(pod):
            on[pod.node_name].append([pod])
    yield from on.values()


_WANTING = {Cause.NOTICE: _leaving, Cause.FLOOR: _short_of_floor, Cause.CRITICAL: _critical}


def wants_durable(pod: Pod, policy: Policy) -> bool:
    """By the score that asks for durable nodes for pods of high priority."""
    return any(
        isinstance(rule, WorkloadPriority)
        and weight
        and pod.priority >= rule.high
        and rule.formula != "literal"
        for rule, weight in policy.scorers
    )


def _affordable(units: Sequence[list[Move]], affordable: Callable[[Sequence[Pod]], bool]) -> list[Move]:
    """As many units as the budgets allow; all of them where that is none, so that the reason can be told."""
    kept: list[Move] = []
    for unit in units:
        if affordable([move.pod for move in (*kept, *unit)]):
            kept += unit
    return kept or [move for unit in units for move in unit]


def _on_durable(pod: Pod, snapshot: Snapshot) -> bool:
    return bool(snapshot.nodes.cluster.durable[snapshot.row_of[pod.node_name]])


def _runs(pod: Pod, snapshot: Snapshot) -> bool:
    return pod.node_name in snapshot.row_of and is_using(pod)
