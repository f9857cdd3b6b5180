"""What a cluster would cost with Tradewind: waiting pods planned, running pods moved off nodes that can go.

Every node is in one part of the bill: empty already, emptied, or staying, with what keeps it. So the parts
add up to what is paid now, and no saving is larger than the bill.
"""

from collections.abc import Mapping, Sequence
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
from tradewind.planner.drains import Drains, Movable, drains, movable
from tradewind.planner.keepers import CAUTIONS, SENTENCES, Keeper, Limits
from tradewind.planner.planner import plan
from tradewind.planner.worker import Worker
from tradewind.savings.bill import Bill, Money

NO_ROOM = "whose pods find no cheaper place elsewhere"
_EVERY_KEEPER = frozenset(Keeper)
# Pods up to which it is also computed what each caution costs: a look at the whole cluster for each.
_MAX_PODS_LIFTED = 20_000


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
    """Pods that lose their node in a month, as the nodes' rates let expect."""

    now: float
    after: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    snapshot: Snapshot  # of now
    before: Sequence[Pod]
    drains: Drains
    bill: Bill
    coverage: Coverage
    now: Money
    after: Money
    emptied: Money
    empty: Money
    remains: Sequence[Remains]  # the dearest first
    bounds: Bounds
    placed: Mapping[str, str]  # waiting pods that get a place, and where
    unplaced: Mapping[str, str]  # and those that do not, and why
    interruptions: Interruptions
    budgets: int  # that were looked at
    trouble: str = ""  # why the solvers' part is missing

    @property
    def saved(self) -> Money:
        hourly = None
        if self.emptied.hourly is not None and self.empty.hourly is not None:
            hourly = self.emptied.hourly + self.empty.hourly
        return Money(
            self.emptied.nodes + self.empty.nodes,
            hourly,
            self.emptied.estimated + self.empty.estimated,
            self.emptied.unpriced + self.empty.unpriced,
        )

    @property
    def moved(self) -> int:
        return sum(len(each.moves) for each in self.drains.sets)


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


def forecast(question: Question, worker: Worker, seconds: float) -> Forecast:
    """`seconds` are for the plan of the waiting pods, and as many again for each of the bounds."""
    planned = _Planned(question, worker, seconds)
    found = planned.drains(question.limits)
    bill = question.bill
    gone = {each.node for each in found.sets} | set(found.empty)
    return Forecast(
        snapshot=question.snapshot,
        before=question.pods,
        drains=found,
        bill=bill,
        coverage=question.coverage,
        now=bill.total,
        after=bill.of(name for name in bill.prices if name not in gone),
        emptied=bill.of(each.node for each in found.sets),
        empty=bill.of(found.empty),
        remains=_remains(question, planned, found),
        bounds=_bounds(question, planned, worker, seconds),
        placed=planned.placed,
        unplaced=planned.unplaced,
        interruptions=Interruptions(
            expected_interruptions(question.snapshot, question.pods),
            expected_interruptions(question.snapshot, found.pods),
        ),
        budgets=len(question.budgets),
        trouble=planned.trouble,
    )


def expected_interruptions(snapshot: Snapshot, pods: Sequence[Pod]) -> float:
    """Pods a month that lose their node, those that go with it aside."""
    rates: dict[str, float] = dict(
        zip(snapshot.nodes.names, snapshot.nodes.interruption_rate.tolist(), strict=True)
    )
    return sum(rates.get(pod.node_name, 0.0) for pod in pods if is_using(pod))


class _Planned:
    """The cluster once the waiting pods are where the plan wants them."""

    def __init__(self, question: Question, worker: Worker, seconds: float) -> None:
        found = plan(question.snapshot, question.pods, question.policy_of, worker, seconds)
        self.placed = {each.pod: each.node for each in found.plan.placements}
        self.unplaced = dict(found.plan.unplaced)
        self.trouble = found.failure
        node_of = {each.uid: each.node for each in found.plan.placements}
        self._unbound = frozenset(node_of)
        replaced = {hints.readable(pod).replaces for pod in question.pods if pod.uid in node_of} - {""}
        staying = [pod for pod in question.pods if str(pod) not in replaced or not pod.node_name]
        pods = [
            msgspec.structs.replace(pod, node_name=node_of[pod.uid]) if pod.uid in node_of else pod
            for pod in staying
        ]
        gone = [pod for pod in question.pods if pod.node_name and str(pod) in replaced]
        new = [pod for pod in pods if pod.uid in node_of]
        snapshot = question.snapshot.without(gone).with_pods(new)
        self._asked = snapshot, pods, question.policy_of, question.budgets

    def drains(self, limits: Limits) -> Drains:
        return drains(*self._asked, limits=limits, unbound=self._unbound)

    def movable(self, limits: Limits) -> Movable:
        return movable(*self._asked, limits=limits, unbound=self._unbound)


def _remains(question: Question, planned: _Planned, found: Drains) -> list[Remains]:
    by: dict[Keeper, list[str]] = {}
    for name, kept in found.kept.items():
        by.setdefault(kept.keeper, []).append(name)
    saved = question.bill.of(each.node for each in found.sets)
    told = []
    for keeper, names in by.items():
        pods = tuple(pod for name in names for pod in found.kept[name].pods)
        lifted = _lifted(question, planned, keeper, saved)
        told.append(Remains(keeper, SENTENCES[keeper], tuple(names), question.bill.of(names), pods, lifted))
    if found.full:
        told.append(Remains("room", NO_ROOM, found.full, question.bill.of(found.full), (), None))
    return sorted(told, key=lambda each: (-(each.money.hourly or 0.0), -each.money.nodes, each.by))


def _lifted(question: Question, planned: _Planned, keeper: Keeper, saved: Money) -> Money | None:
    """What others have asked for is not ours to put a price on being ignored: cautions alone."""
    if keeper not in CAUTIONS or len(question.pods) > _MAX_PODS_LIFTED:
        return None
    limits = question.limits
    bolder = planned.drains(replace(limits, overruled=limits.overruled | {keeper}))
    more = question.bill.of(each.node for each in bolder.sets)
    hourly = None
    if more.hourly is not None and saved.hourly is not None:
        hourly = max(more.hourly - saved.hourly, 0.0)
    return Money(max(more.nodes - saved.nodes, 0), hourly, max(more.estimated - saved.estimated, 0.0))


def _bounds(question: Question, planned: _Planned, worker: Worker, seconds: float) -> Bounds:
    total = question.bill.total
    if total.unpriced and total.hourly is not None:
        return Bounds()  # a node without a price would have to cost something in it
    anything = Limits(_EVERY_KEEPER, frozenset(pod.scheduler_name for pod in question.pods))
    asked = (planned.movable(limits) for limits in (question.limits, anything))
    return Bounds(*(worker.lower_bound(*each, seconds) for each in asked))
