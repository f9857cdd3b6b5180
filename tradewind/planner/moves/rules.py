"""Which running pods may be moved, and which drain sets pay."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from tradewind.cluster.budgets import Budget
from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Namespace, Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import gate
from tradewind.planner.drains import Drains, DrainSet
from tradewind.planner.keepers import Keeper, Keepers, Limits
from tradewind.planner.moves.causes import Cause
from tradewind.planner.moves.ledger import Ledger
from tradewind.planner.moves.rescues import Terms
from tradewind.planner.selection import waited_seconds
from tradewind.planner.settings import DAYS, MoveSettings, MoveWindow

# What keeps pods on a node that stays: with a termination notice they lose it in any case.
GOING_ANYWAY = frozenset({Keeper.SINGLE, Keeper.GANG})


class Stakes(NamedTuple):
    """What a set is weighed against."""

    dollars: float  # an hour, of all nodes with a price
    pods: int  # that could be moved: those that no node has of its own


def stakes(snapshot: Snapshot, pods: Iterable[Pod]) -> Stakes:
    return Stakes(float(np.nansum(snapshot.nodes.price)), sum(map(is_using, pods)))


@dataclass(frozen=True)
class Rules:
    settings: MoveSettings
    namespaces: Mapping[str, Namespace]
    ledger: Ledger
    now: float  # seconds since 1970
    unready: Mapping[str, int] = field(default_factory=dict)  # replicas, by workload

    def limits(self, schedulers: Iterable[str], cause: Cause = Cause.MONEY) -> Limits:
        """A node with a termination notice takes single replicas and gangs with it, and waits for nobody."""
        noticed = cause is Cause.NOTICE
        cooling = self.ledger.cooling_nodes(self.settings.node_cooldown_seconds, self.now)
        moved = frozenset(Keeper(name) for name in self.settings.move)
        if (
            Keeper.CLAIM in moved
        ):  # the planner reads no volumes, kube-scheduler looks at those of a successor
            moved |= {Keeper.VOLUME}
        return Limits(
            moved | (GOING_ANYWAY if noticed else frozenset()),
            frozenset(schedulers),
            frozenset() if noticed else cooling,
            partial(self.keeper, cause=cause),
        )

    def keeper(self, pod: Pod, cause: Cause = Cause.MONEY) -> Keeper | None:
        """Why the pod stays although nothing else keeps it."""
        namespace = self.namespaces.get(pod.namespace)
        if namespace is None or not gate.holds(namespace.labels, pod.annotations):
            return Keeper.NOT_HELD
        if cause is Cause.MONEY and pod.priority > self.settings.max_priority:
            return Keeper.CRITICAL
        if cause is not Cause.NOTICE and waited_seconds(pod, self.now) < self.settings.min_age_seconds:
            return Keeper.YOUNG
        if self.unready.get(pod.workload, 0) > is_missing(pod):
            return Keeper.UNREADY
        cooling = self.ledger.cooling(pod, self.settings.pod_cooldown_seconds, self.now)
        return Keeper.COOLING if cooling else None

    def terms(
        self, snapshot: Snapshot, pods: Sequence[Pod], budgets: Sequence[Budget], schedulers: Iterable[str]
    ) -> Terms:
        """Who may be moved for safety."""
        limits = {cause: self.limits(schedulers, cause) for cause in Cause}
        keepers = {cause: Keepers(snapshot, pods, budgets, limits[cause]) for cause in Cause}

        def movable(cause: Cause, pod: Pod) -> bool:
            return pod.node_name not in limits[cause].nodes and keepers[cause].of_pod(pod) is None

        return Terms(
            frozenset(self.settings.causes),
            movable,
            lambda wanted: not self.ledger.trouble(wanted, self.settings.budget, self.now),
        )

    def trouble(self, each: DrainSet, at_stake: Stakes, cause: Cause = Cause.MONEY) -> str:
        """Why the set is not begun now; empty where it may be."""
        pods = [move.pod for move in each.moves]
        return (
            (pays_not(each, at_stake, self.settings) if cause is Cause.MONEY else "")
            or ("" if cause is Cause.NOTICE else closed(self.settings.windows, self.now))
            or self.ledger.trouble(pods, self.settings.budget, self.now)
        )


def unready(pods: Iterable[Pod]) -> Mapping[str, int]:
    """Replicas that do not serve, by workload: none of it is moved until they do."""
    return Counter(pod.workload for pod in pods if pod.workload and is_missing(pod))


def is_missing(pod: Pod) -> bool:
    """Whether its workload has one Ready replica less than it wants because of it."""
    if pod.deleting:  # what replaces it counts; a StatefulSet's comes only once it is gone
        return pod.owner is not None and pod.owner.kind == "StatefulSet"
    return not (pod.ready or pod.finished)


def pays_not(each: DrainSet, at_stake: Stakes, settings: MoveSettings) -> str:
    """Why emptying the node does not pay; empty where it does."""
    if math.isnan(each.price):
        return "its price is not known"
    saved = each.price * settings.horizon_hours
    if saved < settings.min_dollars:
        return f"${saved:.4g} in {settings.horizon_hours:g} h is less than ${settings.min_dollars:g}"
    balance = balance_of(each, at_stake)
    if balance < settings.min_balance:
        return (
            f"its share of the bill is {balance:.2f} of its share of the pods, below {settings.min_balance:g}"
        )
    return ""


def balance_of(each: DrainSet, at_stake: Stakes) -> float:
    """Share of the bill that is saved, over the share of pods that are moved."""
    if not each.moves:
        return math.inf
    if not at_stake.dollars:
        return 0.0
    return (each.price / at_stake.dollars) / (len(each.moves) / max(at_stake.pods, 1))


def closed(windows: Sequence[MoveWindow], now: float) -> str:
    if not windows or any(_in(window, datetime.fromtimestamp(now, UTC)) for window in windows):
        return ""
    return "no window is open now"


def best_first(found: Drains, at_stake: Stakes) -> list[DrainSet]:
    """Sets that move pods, by what they save for each move."""
    moving = [each for each in found.sets if each.moves and not math.isnan(each.price)]
    return sorted(moving, key=lambda each: -balance_of(each, at_stake))


def _in(window: MoveWindow, now: datetime) -> bool:
    clock = f"{now:%H:%M}"
    if window.start < window.end:
        return window.start <= clock < window.end and DAYS[now.weekday()] in window.days
    began = now if clock >= window.start else now - timedelta(days=1)
    return (clock >= window.start or clock < window.end) and DAYS[began.weekday()] in window.days
