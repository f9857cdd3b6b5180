"""What was evicted, and when: the memory behind budgets and cool-downs, whoever leads.

Evictions are booked before the first of a set, all at once, and are as new as now while the set is under way:
a leader that is killed in between leaves a booking that is too large, never one that is too small.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tradewind.cluster.objects import Pod
from tradewind.planner.moves.causes import Cause
from tradewind.planner.selection import created_at
from tradewind.planner.settings import MoveBudget, MoveSettings

HOUR_SECONDS = 3600.0
# The API server's clock and ours may differ.
SKEW_SECONDS = 5.0


class Eviction(msgspec.Struct, frozen=True):
    at: float  # seconds since 1970, or later
    since: float  # or before: both are when it was, where the leader that asked for it lived on
    uid: str
    namespace: str
    workload: str
    owner: str  # UID of the controller
    cause: Cause = Cause.MONEY


class Ledger(msgspec.Struct, frozen=True):
    evictions: tuple[Eviction, ...] = ()
    under_way: tuple[Eviction, ...] = ()  # of the set that was begun
    node: str = ""  # of that set
    nodes: Mapping[str, float] = {}  # when the pods of a node were moved, or that was given up

    def trouble(self, wanted: Sequence[Pod], budget: MoveBudget, now: float) -> str:
        """Which limit an hour these evictions would exceed; empty where none."""
        recent = [*self.under_way, *(each for each in self.evictions if now - each.at < HOUR_SECONDS)]
        spent = Counter(each.workload for each in recent) + Counter(each.workload for each in wanted)
        if len(recent) + len(wanted) > budget.evictions:
            return f"more than {budget.evictions} evictions an hour"
        for pod in wanted:
            if spent[pod.workload] > budget.per_workload:
                return f"more than {budget.per_workload} evictions an hour of {pod.workload}"
        spent = Counter(each.namespace for each in recent) + Counter(each.namespace for each in wanted)
        for pod in wanted:
            if spent[pod.namespace] > budget.per_namespace:
                return f"more than {budget.per_namespace} evictions an hour in namespace {pod.namespace}"
        return ""

    def cooling(self, pod: Pod, seconds: float, now: float) -> bool:
        """Whether the pod came after an eviction of its controller's: it may be what was moved."""
        if pod.controller in {each.owner for each in self.under_way}:
            return True
        return any(
            created_at(pod) >= int(each.since) - SKEW_SECONDS
            for each in self.evictions
            if each.owner == pod.controller and now - each.at < seconds
        )

    def cooling_nodes(self, seconds: float, now: float) -> frozenset[str]:
        return frozenset(name for name, at in self.nodes.items() if now - at < seconds)

    def begun(self, node: str, pods: Sequence[Pod], now: float, cause: Cause = Cause.MONEY) -> "Ledger":
        booked = tuple(booking(pod, now, cause) for pod in pods)
        return msgspec.structs.replace(self, under_way=booked, node=node)

    def ended(self, node: str, evicted: Mapping[str, float], now: float) -> "Ledger":
        """`evicted`: which of what was begun, by UID, and when."""
        done = [
            msgspec.structs.replace(each, at=evicted[each.uid], since=evicted[each.uid])
            for each in self.under_way
            if each.uid in evicted
        ]
        return Ledger(evictions=(*self.evictions, *done), nodes={**self.nodes, node: now})

    def capped(self, now: float) -> "Ledger":
        """What is recorded for later was now: a clock was set back, and no record may stop moves for long."""
        evictions, under_way = (
            tuple(
                msgspec.structs.replace(each, at=min(each.at, now), since=min(each.since, now))
                for each in booked
            )
            for booked in (self.evictions, self.under_way)
        )
        nodes = {name: min(at, now) for name, at in self.nodes.items()}
        return Ledger(evictions, under_way, self.node, nodes)

    def abandoned(self, now: float) -> "Ledger":
        """What another leader had begun counts as done, as late as it can have been."""
        if not self.under_way:
            return self
        done = [msgspec.structs.replace(each, at=now) for each in self.under_way]
        return Ledger(evictions=(*self.evictions, *done), nodes={**self.nodes, self.node: now})

    def merged(self, stored: "Ledger", known: Sequence["Ledger"]) -> "Ledger":
        """With what somebody else has written; `known` are those that we wrote ourselves.

        Nothing that either has booked is lost.
        """
        if any(stored == each for each in (*known, Ledger())):
            return self
        own = {each.uid for each in (*self.evictions, *self.under_way)}
        others = [each for each in (*stored.evictions, *stored.under_way) if each.uid not in own]
        nodes = {**stored.nodes, **self.nodes}
        return msgspec.structs.replace(self, evictions=(*self.evictions, *others), nodes=nodes)

    def trimmed(self, settings: MoveSettings, now: float) -> "Ledger":
        """Without what no limit asks for any more."""
        kept = max(HOUR_SECONDS, settings.pod_cooldown_seconds)
        nodes = {name: at for name, at in self.nodes.items() if now - at < settings.node_cooldown_seconds}
        evictions = tuple(each for each in self.evictions if now - each.at < kept)
        return msgspec.structs.replace(self, evictions=evictions, nodes=nodes)


def booking(pod: Pod, at: float, cause: Cause = Cause.MONEY) -> Eviction:
    return Eviction(at, at, pod.uid, pod.namespace, pod.workload, pod.controller, cause)
