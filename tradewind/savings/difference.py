"""Two states of a cluster beside each other: where pods are, dollars, interruptions, pods without a place."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from tradewind.cluster.in_use import is_using
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.market.coverage import Coverage
from tradewind.planner.batch import PolicyOf
from tradewind.planner.keepers import Keepers
from tradewind.planner.planner import plan
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.worker import Worker
from tradewind.savings.bill import Bill, Money
from tradewind.savings.forecast import cost_of_new, expected_interruptions


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """A cluster, and by what it is planned."""

    snapshot: Snapshot
    pods: Sequence[Pod]
    policy_of: PolicyOf
    bill: Bill
    coverage: Coverage
    pools: Sequence[PoolTemplate] = ()


class State(NamedTuple):
    """A side once its waiting pods are planned. New nodes are in all figures."""

    nodes: Money  # all of them
    used: Money  # those in use
    pods: int  # that have a place
    placed: Mapping[str, str]  # namespace/name to node, those that go with their node aside
    unplaced: Mapping[str, str]  # to the reason
    pools: Mapping[str, str]  # pods without a place that a pool would grow for
    new_nodes: Mapping[str, int]  # of each such pool
    new_nodes_cost: float | None  # dollars an hour; None where the price of one is unknown
    interruptions: float
    coverage: Coverage


class Elsewhere(NamedTuple):
    pod: str
    now: str  # empty where it waits, or is not there
    then: str


class Difference(NamedTuple):
    now: State
    then: State
    elsewhere: Sequence[Elsewhere]
    anew: bool  # all pods that can were placed anew on both sides


def difference(now: Side, then: Side, worker: Worker, seconds: float, *, anew: bool = False) -> Difference:
    """`seconds` for each plan. With `anew`, running pods are placed anew on both sides.

    That is for other rules: what is on its node already would not show what they do.
    """
    before, after = (_state(side, worker, seconds, anew=anew) for side in (now, then))
    names = sorted({*before.placed, *after.placed, *before.unplaced, *after.unplaced})
    moved = [
        Elsewhere(name, before.placed.get(name, ""), after.placed.get(name, ""))
        for name in names
        if before.placed.get(name, "") != after.placed.get(name, "")
    ]
    return Difference(before, after, moved, anew)


def _state(side: Side, worker: Worker, seconds: float, *, anew: bool) -> State:
    snapshot, pods = side.snapshot, side.pods
    if anew:
        lifted = {pod.uid for pod in pods if _free(pod)}
        snapshot = snapshot.without(pod for pod in pods if pod.uid in lifted)
        pods = [msgspec.structs.replace(p, node_name="") if p.uid in lifted else p for p in pods]
    found = plan(snapshot, pods, side.policy_of, worker, seconds, pools=side.pools)
    node_of = {each.uid: each.node for each in found.plan.placements}
    settled = [
        msgspec.structs.replace(pod, node_name=node_of[pod.uid]) if pod.uid in node_of else pod
        for pod in pods
    ]
    own = [pod for pod in settled if is_using(pod)]
    new, cost = found.new_nodes, cost_of_new(side.pools, found.new_nodes)
    rates = {pool.name: pool.interruption_rate for pool in side.pools}
    at_risk = math.fsum(rates[pool] for pool in found.pools.values())
    return State(
        nodes=_with_new(side.bill.total, new, cost),
        used=_with_new(side.bill.of({pod.node_name for pod in own} & side.bill.prices.keys()), new, cost),
        pods=len(own) + len(found.pools),
        placed={str(pod): pod.node_name for pod in own},
        unplaced=dict(found.plan.unplaced),
        pools=found.pools,
        new_nodes=found.new_nodes,
        new_nodes_cost=cost,
        interruptions=expected_interruptions(side.snapshot, settled) + at_risk,
        coverage=side.coverage,
    )


def _with_new(money: Money, new: Mapping[str, int], cost: float | None) -> Money:
    count = sum(new.values())
    hourly = None if money.hourly is None else money.hourly + (cost or 0.0)
    unpriced = count if cost is None else 0
    return Money(money.nodes + count, hourly, money.estimated, money.unpriced + unpriced)


def _free(pod: Pod) -> bool:
    """Whether its place is the scheduler's choice alone."""
    return is_using(pod) and pod.volume_terms is not None and Keepers.of_planned(pod) is None
