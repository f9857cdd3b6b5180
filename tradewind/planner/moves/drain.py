"""One set of moves on its way: chosen, dry run, reserved, evicting, placed, done; or given up, with a reason.

Pods leave one after the other: the next is evicted when the replacement of the last is on its target, and one
of the same workload when that replacement is Ready. What is not as expected ends the set; replacements are
planned as any other pod then, so that nobody stays held.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Pod
from tradewind.planner import gate
from tradewind.planner.drains import DrainSet, Move
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.ledger import SKEW_SECONDS
from tradewind.planner.selection import created_at

# Of a StatefulSet's pods; those of a Deployment have another ReplicaSet after a rollout.
_REVISION = "controller-revision-hash"
# Pods that were told to end may take their time; the kubelet's default is half a minute.
_LEAVE_SECONDS = 600.0
# For a replacement to become Ready, where the next pod of its workload waits for that.
_READY_SECONDS = 300.0
# Beyond what its moves take, for dry run and reservations.
_START_SECONDS = 30.0


class Phase(StrEnum):
    CHOSEN = "chosen"
    TRIED = "dry-run"  # the API server would accept every eviction
    RESERVED = "reserved"  # room on the targets counts as taken
    EVICTING = "evicting"
    PLACED = "placed"  # every replacement is on its target
    DONE = "done"  # and the pods have left
    GIVEN_UP = "given-up"

    @property
    def ended(self) -> bool:
        return self in {Phase.DONE, Phase.GIVEN_UP}


class Moving(NamedTuple):
    pod: Pod  # as it was chosen
    target: str
    evicted_at: float | None = None  # from just before the request
    replacement: str = ""  # its UID
    placed: bool = False  # on the target
    ready: bool = False  # there, since we looked
    left: bool = False  # by itself, before we asked for it

    @property
    def open(self) -> bool:
        return not (self.placed or self.left)


@dataclass(frozen=True, kw_only=True)
class Drain:
    cause: Cause = Cause.MONEY
    node: str
    price: float  # dollars an hour that it saves
    moves: tuple[Moving, ...]
    known: frozenset[str]  # UIDs of pods that were there before: none of them is a replacement
    until: float  # seconds since 1970; then it is given up, and its reservations end
    phase: Phase = Phase.CHOSEN
    reason: str = ""  # why it was given up
    refused: bool = False  # the API server would not have it, and would not the next time

    @property
    def evicted(self) -> Mapping[str, float]:
        """When, by UID."""
        return {each.pod.uid: each.evicted_at for each in self.moves if each.evicted_at is not None}


def begin(
    chosen: DrainSet,
    pods: Iterable[Pod],
    now: float,
    place_seconds: float,
    cause: Cause = Cause.MONEY,
) -> Drain:
    moves = tuple(Moving(move.pod, move.target) for move in chosen.moves)
    again = len(moves) - len({each.pod.workload for each in moves})
    # A budget may let the next pod go only after the replacement of the last is ready.
    until = now + _START_SECONDS + 2 * place_seconds * len(moves) + _READY_SECONDS * again
    return Drain(
        cause=cause,
        node=chosen.node,
        price=chosen.price,
        moves=moves,
        known=frozenset(pod.uid for pod in pods),
        until=until,
    )


def advanced(drain: Drain, phase: Phase, trouble: str = "") -> Drain:
    """To that phase, unless there is trouble."""
    return given_up(drain, trouble) if trouble else replace(drain, phase=phase)


def given_up(drain: Drain, reason: str, *, refused: bool = False) -> Drain:
    if drain.phase.ended:
        return drain
    return replace(drain, phase=Phase.GIVEN_UP, reason=reason, refused=refused)


def due(drain: Drain) -> Moving | None:
    """Who is evicted next; nobody while a replacement has no node, nor of a workload that recovers."""
    if drain.phase is not Phase.EVICTING or any(
        each.open and each.evicted_at is not None for each in drain.moves
    ):
        return None
    waiting = recovering(drain)
    return next((each for each in drain.moves if each.open and each.pod.workload not in waiting), None)


def recovering(drain: Drain) -> frozenset[str]:
    """Workloads of which a pod was evicted whose replacement is not Ready yet."""
    return frozenset(
        each.pod.workload for each in drain.moves if each.evicted_at is not None and not each.ready
    )


def evicting(drain: Drain, uid: str, now: float | None) -> Drain:
    """From now on a replacement may come; None: the eviction was refused."""
    moves = tuple(each._replace(evicted_at=now) if each.pod.uid == uid else each for each in drain.moves)
    return replace(drain, moves=moves)


def observed(drain: Drain, pods: Sequence[Pod], now: float, place_seconds: float) -> Drain:
    """After a look at the pods of the cluster."""
    if drain.phase.ended:
        return drain
    if drain.phase is Phase.PLACED:
        return _emptied(drain, pods, now)
    rolled = _rollout(drain, pods)
    if rolled:
        return given_up(drain, f"a rollout of {rolled} began")
    if drain.phase is Phase.EVICTING:
        drain = _followed(drain, pods, now, place_seconds)
        if drain.phase is Phase.EVICTING and not any(each.open for each in drain.moves):
            drain = replace(drain, phase=Phase.PLACED, until=now + _LEAVE_SECONDS)
    return given_up(drain, _overdue(drain)) if now > drain.until else drain


def _overdue(drain: Drain) -> str:
    unready = next((each.pod for each in drain.moves if each.placed and not each.ready), None)
    return f"what replaces {unready} is not Ready" if unready else "it took too long"


def _followed(drain: Drain, pods: Sequence[Pod], now: float, place_seconds: float) -> Drain:
    there = {pod.uid: pod for pod in pods}
    moves = []
    for each in drain.moves:
        moved, trouble = each, ""
        if each.open and each.evicted_at is None:
            pod = there.get(each.pod.uid)
            moved = each._replace(left=pod is None or pod.deleting or pod.finished)
        elif each.open:
            moved, trouble = _replaced(drain, each, pods, now - (each.evicted_at or now) > place_seconds)
        elif each.placed and not each.ready:
            found = there.get(each.replacement)
            moved = each._replace(ready=found is not None and found.ready and not found.deleting)
        if trouble:
            return given_up(drain, trouble)
        moves.append(moved)
    return replace(drain, moves=tuple(moves))


def _replaced(drain: Drain, each: Moving, pods: Sequence[Pod], overdue: bool) -> tuple[Moving, str]:
    found = replacement(drain, each, pods)
    if found is None:
        return each, f"nothing replaced {each.pod}" if overdue else ""
    if found.labels.get(_REVISION) != each.pod.labels.get(_REVISION):
        return each, f"a rollout of {each.pod.workload} began"
    if not found.node_name:
        return each, f"{found}, which replaces {each.pod}, found no place" if overdue else ""
    if found.node_name != each.target:
        return each, f"{found}, which replaces {each.pod}, is on {found.node_name} instead of {each.target}"
    return each._replace(replacement=found.uid, placed=True, ready=found.ready), ""


def replacement(drain: Drain, each: Moving, pods: Iterable[Pod]) -> Pod | None:
    """By controller and time; a pod's name says nothing, and a StatefulSet's is the same as before."""
    evicted_at = each.evicted_at
    if each.pod.owner is None or evicted_at is None:
        return None
    others = {other.replacement for other in drain.moves} - {each.replacement}
    came = [
        pod
        for pod in pods
        if pod.controller == each.pod.controller
        and pod.uid not in drain.known
        and pod.uid not in others
        and not pod.deleting
        and created_at(pod) >= int(evicted_at) - SKEW_SECONDS
    ]
    return min(came, key=lambda pod: (pod.created, pod.name), default=None)


def _rollout(drain: Drain, pods: Iterable[Pod]) -> str:
    """A workload of the set that has pods of another controller than before."""
    controllers = {each.pod.workload: each.pod.controller for each in drain.moves if each.pod.owner}
    for pod in pods:
        known = controllers.get(pod.workload, pod.controller)
        if pod.controller != known and pod.uid not in drain.known:
            return pod.workload
    return ""


def _emptied(drain: Drain, pods: Sequence[Pod], now: float) -> Drain:
    came = others_on(drain, pods)
    if came:
        return given_up(drain, f"{came[0]} came to {drain.node} meanwhile")
    own = {each.pod.uid for each in drain.moves}
    left = [pod for pod in pods if pod.uid in own and not pod.finished]
    if not left:
        return replace(drain, phase=Phase.DONE)
    return given_up(drain, f"{left[0]} does not end") if now > drain.until else drain


def others_on(drain: Drain, pods: Iterable[Pod]) -> list[Pod]:
    """Pods on a node that is to be empty which are not of the set, nor what every node has."""
    if drain.cause is not Cause.MONEY:
        return []
    own = {each.pod.uid for each in drain.moves}
    return [pod for pod in pods if pod.node_name == drain.node and pod.uid not in own and is_using(pod)]


class InFlight(NamedTuple):
    """What plans have to know of a set on its way, from the moment when it is chosen."""

    pins: Mapping[str, str] = {}  # UID of a held replacement to the node that it is to go to
    taken: Sequence[Pod] = ()  # of replacements that are not there yet, as on their targets
    emptied: frozenset[str] = frozenset()  # nodes of which a pod that comes there ends the set


def in_flight(drain: Drain | None, pods: Sequence[Pod]) -> InFlight:
    """`pods` are those that wait."""
    if drain is None or drain.phase.ended:
        return InFlight()
    pins: dict[str, str] = {}
    taken = []
    for each in drain.moves:
        if each.open:
            found = replacement(drain, each, pods)
            if found is None:
                taken.append(reserved_for(each.pod, each.target))
            elif gate.held(found):
                pins[found.uid] = each.target
    return InFlight(pins, taken, frozenset([drain.node] if drain.cause is Cause.MONEY else []))


def reserved_for(pod: Pod, target: str) -> Pod:
    """What will take the pod's place, as if it were on the target already."""
    return msgspec.structs.replace(pod, node_name=target, uid=f"{pod.uid}/moved", name=f"{pod.name}-moved")


def moves_left(drain: Drain) -> list[Move]:
    return [Move(each.pod, each.target) for each in drain.moves if each.open and each.evicted_at is None]
