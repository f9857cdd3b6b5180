"""A cluster with controllers, a planner and a clock of its own, and a record of what was done to it."""

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
import numpy as np

from tests.builders import PodBuilder, namespace, node, offer_of, pod
from tests.planner.cases import policy_of
from tradewind.cluster import hints
from tradewind.cluster.budgets import Budget
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.planner import gate
from tradewind.planner.moves.drain import Drain, Phase
from tradewind.planner.moves.ledger import HOUR_SECONDS, Ledger
from tradewind.planner.moves.mover import Mover, Refusal, Round
from tradewind.planner.moves.world import World
from tradewind.planner.plan_annotation import PlanAnnotation
from tradewind.planner.settings import PlannerSettings
from tradewind.planner.terms import Group

NOTICE = "aws-node-termination-handler/spot-itn"
# Settings with which sets follow each other soon.
QUICK = {
    "everySeconds": 5,
    "minBalance": 0,
    "podCooldownSeconds": 1800,
    "nodeCooldownSeconds": 60,
    "minAgeSeconds": 0,
}

SHOP = "shop"
_START = datetime(2026, 3, 4, 12, tzinfo=UTC).timestamp()
_HOLD_SECONDS = 30.0


class Evicted(NamedTuple):
    at: float
    pod: Pod


class FakeCluster:
    """Nodes of 4 cores; its ReplicaSets replace at once, and new pods are held as in a held namespace."""

    def __init__(self, **moves: object) -> None:
        self.settings = PlannerSettings.model_validate({"moves": {"mode": "act", **moves}})
        self.cache = Cache(offer_of)
        self.cache.apply_namespace(namespace(SHOP).label("tradewind.dev/hold", "enabled").build())
        self.now = _START
        self.evicted: list[Evicted] = []
        self.moved_at: dict[str, float] = {}  # UID of what came after an eviction, and when that was
        self.ended: list[Drain] = []
        self.reserved: dict[str, str] = {}  # UID to target
        self.longest_hold = 0.0
        self.budget_allows: Callable[[Pod], bool] = lambda _: True
        self.dry_runs_pass = False  # whatever the budgets say
        self.recreated: Callable[[str], str] = lambda owner: owner  # what the controller makes in its place
        self.lands: Callable[[Pod, str], str] = lambda _, target: target
        self.starts_for: Callable[[Pod], float] = lambda _: 0.0  # seconds on its node until it is Ready
        self.hangs: Callable[[Pod], bool] = lambda _: False  # stays terminating
        # None, or what the API server answers: "refused", or else nobody knows whether the pod was evicted.
        self.answers: Callable[[], str | None] = lambda: None
        self.crash_after = -1  # evictions; then the leader dies before the answer
        self.saves = True
        self.promised: dict[str, Pod] = {}  # by UID, as on the nodes that they are planned on
        self._stored = Ledger()
        self._settled = True
        self._numbers = itertools.count()
        self._created: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self.mover = self._new_leader()

    # What a test does to it.

    def add_node(self, name: str, price: float, taint: str = "", *, spot: bool = False) -> None:
        built = node(name).price(price)
        built = built.label("karpenter.sh/capacity-type", "spot") if spot else built
        self.cache.apply_node((built.taint(taint) if taint else built).build())

    def add_pod(self, owner: str, on: str, cpu: str = "1", age: float = 86_400, priority: int = 0) -> str:
        return self._create(owner, cpu, self.now - age, on, priority)

    def kill_leader(self) -> None:
        self.mover = self._new_leader()
        self._settled = False  # what the last one left behind is there until the first round

    def tick(self, seconds: float = 1.0) -> Round:
        self.now += seconds
        self._end_terminating()
        self._start_pods()
        try:
            told = self.mover.run()
            self._settled = True
        except _CrashError:
            self.kill_leader()
            told = Round()
        if told.ended is not None:
            self.ended.append(told.ended)
        self._plan()
        return told

    def run(self, seconds: float, step: float = 1.0) -> None:
        for _ in range(int(seconds / step)):
            self.tick(step)

    # What must hold at any time.

    def check(self) -> None:
        budget = self.settings.moves.budget
        for each in self.evicted:
            recent = [other for other in self.evicted if 0 <= each.at - other.at < HOUR_SECONDS]
            assert len(recent) <= budget.evictions
            assert max(Counter(other.pod.workload for other in recent).values()) <= budget.per_workload
            assert max(Counter(other.pod.namespace for other in recent).values()) <= budget.per_namespace
            moved_at = self.moved_at.get(each.pod.uid)
            assert moved_at is None or each.at - moved_at >= self.settings.moves.pod_cooldown_seconds
        booked = {each.uid for each in (*self._stored.evictions, *self._stored.under_way)}
        evicted = {each.pod.uid for each in self.evicted if self.now - each.at < HOUR_SECONDS}
        assert evicted <= booked
        assert self.longest_hold <= _HOLD_SECONDS
        for drain in self.ended:
            assert drain.phase.ended
            assert (drain.phase is Phase.GIVEN_UP) == bool(drain.reason)
        if self.mover.drain is None and self._settled:
            assert self.reserved.keys() & {pod.uid for pod in self.cache.all_pods()} == set()

    def held(self) -> list[Pod]:
        return [pod for pod in self.cache.waiting() if gate.held(pod)]

    def unready(self, replica: Pod) -> list[Pod]:
        """Of the same workload, besides this one."""
        return [
            pod
            for pod in self.cache.all_pods()
            if pod.workload == replica.workload
            and pod.uid != replica.uid
            and not (pod.ready or pod.deleting or pod.finished)
        ]

    def on(self, name: str) -> list[Pod]:
        return [pod for pod in self.cache.all_pods() if pod.node_name == name]

    # The hands.

    def load(self) -> Ledger | None:
        return self._stored

    def save(self, ledger: Ledger) -> Ledger | None:
        if not self.saves:
            return None
        self._stored = msgspec.json.decode(msgspec.json.encode(ledger), type=Ledger)
        return self._stored

    def budgets(self) -> Sequence[Budget]:
        return ()

    def evict(self, victim: Pod, *, dry_run: bool = False) -> Refusal | None:
        there = {each.uid: each for each in self.cache.all_pods()}.get(victim.uid)
        if there is None:
            return Refusal("not found", gone=True)
        if not self.budget_allows(victim) and not (dry_run and self.dry_runs_pass):
            return Refusal("a disruption budget", again=True)
        answer = None if dry_run else self.answers()
        if answer == "refused":
            return Refusal("forbidden")
        if answer == "not evicted":
            return Refusal("a timeout", unsure=True)
        if not dry_run:
            assert self.unready(there) == []
            self.evicted.append(Evicted(self.now, there))
            self.cache.apply_pod(msgspec.structs.replace(there, deleting=True))
            assert there.owner is not None
            owner = self.recreated(there.owner.name)
            if owner:
                cpu = f"{there.requests['cpu']}m"
                uid = self._create(owner, cpu, self.now, "", there.priority)
                self.moved_at[uid] = self.now
            if len(self.evicted) == self.crash_after:
                raise _CrashError
        return Refusal("a timeout", unsure=True) if answer == "evicted" else None

    def reserve(self, each: Pod, place: PlanAnnotation) -> bool:
        assert place.fresh(self.now, limit=7200)
        self.reserved[each.uid] = place.node
        return True

    def release(self, pods: Collection[Pod]) -> None:
        for each in pods:
            self.reserved.pop(each.uid, None)

    # What a cluster does by itself.

    def _new_leader(self) -> Mover:
        return Mover(self, self._look, policy_of, lambda: self.settings)

    def _look(self) -> World:
        return World(*self.cache.state(), self.now, self.promised)

    def _create(self, owner: str, cpu: str, created: float, on: str, priority: int) -> str:
        uid = f"{owner}-{next(self._numbers)}"
        moment = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        built: PodBuilder = (
            pod(uid).namespace(SHOP).uid(uid).owner("ReplicaSet", owner, owner).priority(priority)
        )
        built = built.requests(cpu=cpu).field("metadata", "creationTimestamp", value=moment)
        built = built.label("app", owner)
        if on:
            built = built.on(on)
        else:
            built = built.field("spec", "schedulingGates", value=[{"name": gate.GATE}])
            self._created[uid] = self.now
        self.cache.apply_pod(built.build())
        return uid

    def _end_terminating(self) -> None:
        for each in self.cache.all_pods():
            if each.deleting and not self.hangs(each):
                self.cache.remove_pod(each.uid)

    def _start_pods(self) -> None:
        for each in self.cache.all_pods():
            if each.node_name and not each.ready:
                began = self._started.setdefault(each.uid, self.now)
                if self.now - began >= self.starts_for(each):
                    self.cache.apply_pod(msgspec.structs.replace(each, ready=True))

    def _plan(self) -> None:
        """Each held pod by itself: to where it is pinned, else anywhere; after a while it is let go."""
        for each in self.held():
            flight = self.mover.in_flight(self.cache.waiting())
            wanted = flight.pins.get(each.uid)
            nodes = self.cache.snapshot().with_pods(flight.taken).nodes
            rules = Group([each], policy_of(each), hints.NONE).filters()
            feasible = np.logical_and.reduce([rule.feasible(each, nodes) for rule in rules])
            names = [name for name, fits in zip(nodes.names, feasible.tolist(), strict=True) if fits]
            if wanted is not None:
                names = [name for name in names if name == wanted]
            held_for = self.now - self._created[each.uid]
            self.longest_hold = max(self.longest_hold, held_for)
            if names:
                where = self.lands(each, names[0])
                self.cache.apply_pod(msgspec.structs.replace(each, node_name=where, gates=()))
            elif held_for >= _HOLD_SECONDS:
                self.cache.apply_pod(msgspec.structs.replace(each, gates=()))


class _CrashError(Exception):
    """The leader is killed."""
