"""What a cluster would cost with Tradewind: waiting pods planned, running pods moved off nodes that can go.

Every node is in one part of the bill: empty already, emptied, or staying, with what keeps it. So the parts
add up to what is paid now, and no saving is larger than the bill.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from tradewind.cluster import hints
from tradewind.cluster.budgets import Budget
from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.market.coverage import Coverage
from tradewind.planner.batch import PolicyOf
from tradewind.planner.drains import Drains, DrainSet, Movable, drains, movable
from tradewind.planner.keepers import CAUTIONS, SENTENCES, Keeper, Limits
from tradewind.planner.planner import plan
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.worker import Worker
from tradewind.savings.bill import Bill, Money
from tradewind.savings.peers import Peer, World, autoscaler, placed_anew

NO_ROOM = "whose pods find no cheaper place elsewhere"
NEEDED = "that waiting pods need"
_EVERY_KEEPER = frozenset(Keeper)
# Pods up to which it is also computed what each caution costs: a look at the whole cluster for each.
_MAX_PODS_LIFTED = 10_000
# The programme ends by itself, in seconds at 2,000 nodes: a limit that is reached would make answers differ.
_BOUND_SECONDS = 60.0


class Remains(NamedTuple):
    """Nodes that stay, and why."""

    by: str  # the keeper, or "room"
    sentence: str
    nodes: tuple[str, ...]
    money: Money
    pods: tuple[str, ...]  # that keep them
    lifted: (
        Money | None
    )  # what would be saved on top, were these pods moved too; None where nobody may say so


class Bounds(NamedTuple):
    """Dollars an hour, or nodes where there are no prices; None where it took too long or is unsupported."""

    within_limits: float | None = None  # for these pods, while what stays stays
    all_moved: float | None = None  # the same if every pod could be moved


class Interruptions(NamedTuple):
    """Pods that lose their node in a month, as the nodes' rates let expect, of those that run now."""

    now: float
    after: float
    pods: int


class Growth(NamedTuple):
    """Nodes that pools would add for pods that fit on no node there is; in neither the bill nor a saving."""

    pods: Mapping[str, str]  # namespace/name to the pool
    nodes: Mapping[str, int]  # by pool
    hourly: float | None  # dollars of all of them; None where the price of one is unknown


class Rates(NamedTuple):
    """Where the interruption rates of spot nodes come from."""

    spot: int  # nodes
    assumed: int  # of those, nodes that no source gives a rate for
    rate: float  # that is assumed for them


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    snapshot: Snapshot  # of now
    before: Sequence[Pod]
    after_pods: Sequence[Pod]  # the same, where they are afterwards
    sets: Sequence[DrainSet]  # of nodes that can go away
    cordoned: Sequence[DrainSet]  # of nodes that somebody cordoned
    cleared: Sequence[DrainSet]  # of nodes that waiting pods use afterwards
    bill: Bill
    coverage: Coverage
    now: Money
    after: Money
    saved: Money  # by moving pods
    idle: Money  # nodes that go without us: an autoscaler removes empty ones, and who cordons one drains it
    idle_nodes: Sequence[str]
    peers: Sequence[Peer]  # the tools that the cluster has, for comparison
    remains: Sequence[Remains]  # the dearest first
    bounds: Bounds
    placed: Mapping[str, str]  # waiting pods that get a place, and where
    unplaced: Mapping[str, str]  # and those that do not, and why
    growth: Growth
    interruptions: Interruptions
    rates: Rates
    budgets: int  # that were looked at
    missing: Sequence[str]  # signs that pods are missing, which would make the savings too large
    trouble: str = ""  # why the solvers' part is missing

    @property
    def gone(self) -> frozenset[str]:
        """Nodes that can go away."""
        return frozenset(each.node for each in self.sets).union(self.idle_nodes)

    @property
    def moved(self) -> int:
        return sum(len(each.moves) for each in self.sets)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """All that a forecast is made from."""

    snapshot: Snapshot
    pods: Sequence[Pod]
    budgets: Sequence[Budget]
    policy_of: PolicyOf
    bill: Bill
    coverage: Coverage
    limits: Limits
    rates: Rates
    missing: Sequence[str] = ()
    pools: Sequence[PoolTemplate] = ()


def forecast(
    question: Question, worker: Worker, seconds: float, stage: Callable[[str], None] = lambda _: None
) -> Forecast:
    """`seconds` are for each plan of waiting pods. `stage` gets what is being done."""
    stage("planning waiting pods")
    planned = _Planned(question, worker, seconds)
    stage("looking for nodes that can be emptied")
    settled = planned.settled(question.limits, worker, seconds)
    stage("looking for what keeps the other nodes, and for the lower bound")
    with ThreadPoolExecutor(1) as beside:  # the bounds are found by the solvers' process
        bounds = beside.submit(_bounds, question, planned, worker)
        remains = _remains(question, planned, settled)
    stage("comparing with the autoscaler and kube-scheduler alone")
    bill = question.bill
    peers = (autoscaler(planned.world, bill, question.pools), *placed_anew(planned.world, bill))
    table = question.snapshot.nodes.cluster.table
    cordoned = [each for each in settled.sets if table.unschedulable[table.row_of[each.node]]]
    sets = [each for each in settled.sets if each not in cordoned]
    idle = sorted({each.node for each in cordoned}.union(settled.empty))
    gone = {each.node for each in sets} | set(idle)
    return Forecast(
        snapshot=question.snapshot,
        before=question.pods,
        after_pods=settled.pods,
        sets=sets,
        cordoned=cordoned,
        cleared=settled.cleared,
        bill=bill,
        coverage=question.coverage,
        now=bill.total,
        after=bill.of(name for name in bill.prices if name not in gone),
        saved=bill.of(each.node for each in sets),
        idle=bill.of(idle),
        idle_nodes=idle,
        peers=peers,
        remains=remains,
        bounds=bounds.result(),
        placed=settled.placed,
        unplaced=settled.unplaced,
        growth=settled.growth,
        interruptions=_interruptions(question, settled.pods),
        rates=question.rates,
        budgets=len(question.budgets),
        missing=question.missing,
        trouble=planned.trouble or settled.trouble,
    )


def expected_interruptions(snapshot: Snapshot, pods: Iterable[Pod]) -> float:
    """Pods a month that lose their node, those that go with it aside."""
    rates: dict[str, float] = dict(
        zip(snapshot.nodes.names, snapshot.nodes.interruption_rate.tolist(), strict=True)
    )
    return math.fsum(rates.get(pod.node_name, 0.0) for pod in pods if is_using(pod))


def _interruptions(question: Question, after: Sequence[Pod]) -> Interruptions:
    """Of the pods that run now: those that wait have no figure of now to compare with."""
    staying = {pod.uid for pod in after if is_using(pod)}
    running = {pod.uid for pod in question.pods if is_using(pod) and pod.uid in staying}
    return Interruptions(
        expected_interruptions(question.snapshot, (pod for pod in question.pods if pod.uid in running)),
        expected_interruptions(question.snapshot, (pod for pod in after if pod.uid in running)),
        len(running),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Settled:
    """The cluster once pods have moved and all waiting pods that fit have a place."""

    drains: Drains
    sets: Sequence[DrainSet]
    cleared: Sequence[DrainSet]
    empty: Sequence[str]
    needed: Mapping[str, Sequence[str]]  # nodes that would be saved but for waiting pods: the pods by node
    placed: Mapping[str, str]
    unplaced: Mapping[str, str]
    growth: Growth
    pods: Sequence[Pod]
    trouble: str


class _Planned:
    """The cluster once the waiting pods are where the plan wants them."""

    def __init__(self, question: Question, worker: Worker, seconds: float) -> None:
        self._question = question
        found = plan(
            question.snapshot,
            question.pods,
            question.policy_of,
            worker,
            seconds,
            skip_solver_if_complete=True,
        )
        self.placed = {each.pod: each.node for each in found.plan.placements}
        self.unplaced = dict(found.plan.unplaced)
        self.trouble = found.failure
        node_of = {each.uid: each.node for each in found.plan.placements}
        self._unbound = frozenset(node_of)
        replaced = {hints.readable(pod).replaces for pod in question.pods if pod.uid in node_of} - {""}
        staying = [pod for pod in question.pods if str(pod) not in replaced or not pod.node_name]
        pods = _on_nodes(staying, node_of)
        gone = [pod for pod in question.pods if pod.node_name and str(pod) in replaced]
        new = [pod for pod in pods if pod.uid in node_of]
        snapshot = question.snapshot.without(gone).with_pods(new)
        self._asked = snapshot, pods, question.policy_of, question.budgets

    def drains(self, limits: Limits) -> Drains:
        return drains(*self._asked, limits=limits, unbound=self._unbound)

    def settled(self, limits: Limits, worker: Worker | None, seconds: float) -> _Settled:
        """Pods that still wait come before savings: they may use any node, and one that they use stays."""
        found = self.drains(limits)
        placed = dict(self.placed)
        placed |= {str(pod): pod.node_name for pod in found.pods if pod.uid in self._unbound}
        pods, unplaced, growth, trouble = found.pods, self.unplaced, Growth({}, {}, 0.0), ""
        needed: dict[str, list[str]] = {}
        if unplaced:
            question = self._question
            snapshot, before, *_ = self._asked
            at = {pod.uid: pod.node_name for pod in before}
            moved = {pod.uid for pod in pods if pod.node_name != at[pod.uid]}
            snapshot = snapshot.without(pod for pod in before if pod.uid in moved)
            snapshot = snapshot.with_pods([pod for pod in pods if pod.uid in moved])
            again = plan(
                snapshot,
                pods,
                question.policy_of,
                worker,
                seconds,
                pools=question.pools,
                skip_solver_if_complete=not question.pools,
            )
            node_of = {each.uid: each.node for each in again.plan.placements}
            placed |= {each.pod: each.node for each in again.plan.placements}
            saved = {each.node for each in found.sets}.union(found.empty)
            for each in again.plan.placements:
                if each.node in saved:
                    needed.setdefault(each.node, []).append(each.pod)
            unplaced = {pod: why for pod, why in again.plan.unplaced.items() if pod not in again.pools}
            pods, trouble = tuple(_on_nodes(pods, node_of)), again.failure
            growth = Growth(again.pools, again.new_nodes, cost_of_new(question.pools, again.new_nodes))
        return _Settled(
            drains=found,
            sets=[each for each in found.sets if each.node not in needed],
            cleared=[each for each in found.sets if each.node in needed],
            empty=[name for name in found.empty if name not in needed],
            needed=needed,
            placed=placed,
            unplaced=unplaced,
            growth=growth,
            pods=pods,
            trouble=trouble,
        )

    @property
    def world(self) -> World:
        return World(*self._asked)

    def movable(self, limits: Limits) -> Movable:
        return movable(*self._asked, limits=limits, unbound=self._unbound)


def _on_nodes(pods: Iterable[Pod], node_of: Mapping[str, str]) -> list[Pod]:
    return [
        msgspec.structs.replace(pod, node_name=node_of[pod.uid]) if pod.uid in node_of else pod
        for pod in pods
    ]


def cost_of_new(pools: Iterable[PoolTemplate], nodes: Mapping[str, int]) -> float | None:
    """Dollars an hour of nodes that pools add; None where the price of one is unknown."""
    prices = {pool.name: pool.price for pool in pools}
    known = [price * count for pool, count in nodes.items() if (price := prices[pool]) is not None]
    return math.fsum(known) if len(known) == len(nodes) else None


def _remains(question: Question, planned: _Planned, settled: _Settled) -> list[Remains]:
    found = settled.drains
    by: dict[Keeper, list[str]] = {}
    for name, kept in found.kept.items():
        by.setdefault(kept.keeper, []).append(name)
    saved = question.bill.of(each.node for each in settled.sets)
    remains = []
    for keeper, names in by.items():
        pods = tuple(pod for name in names for pod in found.kept[name].pods)
        lifted = _lifted(question, planned, keeper, saved)
        money = question.bill.of(names)
        remains.append(Remains(keeper, SENTENCES[keeper], tuple(names), money, pods, lifted))
    if settled.needed:
        names = [*settled.needed]
        pods = tuple(pod for each in settled.needed.values() for pod in each)
        remains.append(Remains("waiting", NEEDED, tuple(names), question.bill.of(names), pods, None))
    if found.full:
        remains.append(Remains("room", NO_ROOM, found.full, question.bill.of(found.full), (), None))
    return sorted(remains, key=lambda each: (-(each.money.hourly or 0.0), -each.money.nodes, each.by))


def _lifted(question: Question, planned: _Planned, keeper: Keeper, saved: Money) -> Money | None:
    """What others have asked for is not ours to put a price on being ignored: cautions alone."""
    if keeper not in CAUTIONS or len(question.pods) > _MAX_PODS_LIFTED:
        return None
    limits = question.limits
    bolder = planned.settled(replace(limits, overruled=limits.overruled | {keeper}), None, 0.0)
    more = question.bill.of(each.node for each in bolder.sets)
    hourly = None
    if more.hourly is not None and saved.hourly is not None:
        hourly = max(more.hourly - saved.hourly, 0.0)
    return Money(max(more.nodes - saved.nodes, 0), hourly, max(more.estimated - saved.estimated, 0.0))


def _bounds(question: Question, planned: _Planned, worker: Worker) -> Bounds:
    total = question.bill.total
    if total.unpriced and total.hourly is not None:
        return Bounds()  # a node without a price would have to cost something in it
    anything = Limits(_EVERY_KEEPER, frozenset(pod.scheduler_name for pod in question.pods))
    asked = (planned.movable(limits) for limits in (question.limits, anything))
    return Bounds(*(worker.lower_bound(*each, _BOUND_SECONDS) for each in asked))
