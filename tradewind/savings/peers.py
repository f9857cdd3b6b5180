"""What the tools that a cluster has anyway would reach: a saving that they make too is not Tradewind's.

The autoscaler is given Tradewind's own search for nodes to empty, under its own rules of what may be moved:
it does no better than that. kube-scheduler moves nothing, so it is given what Tradewind is given beside it:
every pod that a controller would start again, placed anew.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tradewind.cluster.budgets import Budget
from tradewind.cluster.in_use import is_using
from tradewind.cluster.karpenter import NODE_POOL_LABEL
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.planner.batch import PolicyOf, make_batch
from tradewind.planner.drains import Drains, drains
from tradewind.planner.greedy import greedy
from tradewind.planner.keepers import Keeper, Keepers, Limits
from tradewind.planner.problem import Assignment, Problem
from tradewind.planner.settings import PoolTemplate
from tradewind.planner.state import State
from tradewind.savings.bill import Bill, Money

KARPENTER = "Karpenter's consolidation (WhenEmptyOrUnderutilized)"
CLUSTER_AUTOSCALER = "cluster-autoscaler (nodes under 50 % requested)"
MOST_ALLOCATED = "kube-scheduler with MostAllocated, all pods placed anew"
TRADEWIND = "Tradewind, all pods placed anew"

_THRESHOLD = 0.5  # cluster-autoscaler's --scale-down-utilization-threshold
# What keeps a node or a pod for each of them; of all else they take no notice.
_OF_NODES = {Keeper.CONTROL_PLANE, Keeper.LEAVING, Keeper.NODE, Keeper.TERMINATING, Keeper.COOLING}
_OF_KARPENTER = {*_OF_NODES, Keeper.DO_NOT_DISRUPT, Keeper.BUDGET, Keeper.VOLUME}
_OF_AUTOSCALER = {
    *_OF_NODES,
    Keeper.SAFE_TO_EVICT,
    Keeper.BUDGET,
    Keeper.BARE,
    Keeper.LOCAL_STORAGE,
    Keeper.VOLUME,
}


class Peer(NamedTuple):
    name: str
    after: Money  # nodes that are left, those that replace others in dollars alone
    replaced: int = 0  # nodes, by cheaper ones


class World(NamedTuple):
    """The cluster with its waiting pods planned."""

    snapshot: Snapshot
    pods: Sequence[Pod]
    policy_of: PolicyOf
    budgets: Sequence[Budget]


def autoscaler(world: World, bill: Bill, pools: Sequence[PoolTemplate]) -> Peer:
    """Karpenter where nodes are of its NodePools, else cluster-autoscaler."""
    nodes = world.snapshot.nodes.cluster.table.nodes
    managed = {node.name for node in nodes if NODE_POOL_LABEL in node.labels}
    candidates = managed or _underused(nodes, world.pods)
    keeping = _OF_KARPENTER if managed else _OF_AUTOSCALER
    limits = Limits(
        frozenset(Keeper) - keeping,
        frozenset(pod.scheduler_name for pod in world.pods),
        nodes=frozenset(node.name for node in nodes) - candidates,
    )
    found = drains(*world, limits=limits)
    gone = {each.node for each in found.sets}.union(found.empty)
    after = bill.of(name for name in bill.prices if name not in gone)
    if not managed:
        return Peer(CLUSTER_AUTOSCALER, after)
    gains = _replacements(world, found, managed - gone, bill, pools)
    if after.hourly is not None:
        after = after._replace(hourly=after.hourly - math.fsum(gains))
    return Peer(KARPENTER, after, len(gains))


def placed_anew(world: World, bill: Bill) -> list[Peer]:
    """What is in use once every pod that its controller would start again has been, by either scheduler."""
    lifted = {pod.uid for pod in world.pods if _is_started_again(pod)}
    snapshot = world.snapshot.without(pod for pod in world.pods if pod.uid in lifted)
    pods = [msgspec.structs.replace(p, node_name="") if p.uid in lifted else p for p in world.pods]
    problem = make_batch(snapshot, sorted(pods, key=_age), world.policy_of).problem
    found = {MOST_ALLOCATED: _most_allocated(problem, snapshot.nodes), TRADEWIND: greedy(problem)}
    return [Peer(name, bill.of(_used(problem, assignment))) for name, assignment in found.items()]


def _age(pod: Pod) -> tuple[str, str]:
    return pod.created, pod.name


def _is_started_again(pod: Pod) -> bool:
    return (
        is_using(pod)
        and pod.owner is not None
        and pod.volume_terms is not None
        and Keepers.of_planned(pod) is None
    )


def _used(problem: Problem, assignment: Assignment) -> list[str]:
    rows = set(np.flatnonzero(problem.in_use).tolist()) | {row for _, row in assignment}
    return [problem.node_names[row] for row in sorted(rows)]


def _most_allocated(problem: Problem, nodes: Nodes) -> Assignment:
    """Each pod to the node of which most is requested then; as many at once as that node has room for."""
    state = State(problem)
    known = nodes.resource_rows
    scored = np.array([known[each] for each in ("cpu", "memory") if each in known], np.intp)
    total = np.maximum(nodes.allocatable[scored], 1)
    for index, each in enumerate(problem.classes):
        asked = each.requests[scored][:, None]
        while state.limit(index):
            room = state.room(index)
            rows = np.flatnonzero(room)
            if not rows.size:
                break
            left = ((state.free[np.ix_(scored, rows)] - asked) / total[:, rows]).sum(axis=0)
            row = int(rows[np.argmin(np.round(left, 9))])
            state.add(index, row, 1 if state.ties[index] else min(int(room[row]), state.left[index]))
    return state.assignment


def _underused(nodes: Sequence[Node], pods: Sequence[Pod]) -> set[str]:
    on: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.node_name and not pod.finished:
            on[pod.node_name].append(pod)
    return {node.name for node in nodes if _requested(node, on[node.name]) < _THRESHOLD}


def _requested(node: Node, pods: Sequence[Pod]) -> float:
    """The larger share of cores or memory."""
    return max(
        (
            sum(pod.requests.get(resource, 0) for pod in pods) / node.allocatable[resource]
            for resource in ("cpu", "memory")
            if node.allocatable.get(resource)
        ),
        default=1.0,
    )


def _replacements(
    world: World, found: Drains, nodes: Collection[str], bill: Bill, pools: Sequence[PoolTemplate]
) -> list[float]:
    """Dollars an hour by which one new node that holds the same pods is cheaper, of each that has such a one.

    On-demand nodes alone, as Karpenter does by default, and no pods that ask for particular nodes.
    """
    table = world.snapshot.nodes.cluster.table
    durable = dict(zip(world.snapshot.nodes.names, world.snapshot.nodes.durable.tolist(), strict=True))
    on: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in found.pods:
        if is_using(pod):
            on[pod.node_name].append(pod)
    offered = [(pool.price, pool.allocatable()) for pool in pools if pool.price and not pool.taints]
    gains = []
    for name in sorted(nodes):
        kept = found.kept.get(name)
        if kept or not durable[name] or table.nodes[table.row_of[name]].unschedulable:
            continue
        if any(pod.node_selector or pod.node_terms or pod.volume_terms or pod.spreads for pod in on[name]):
            continue
        cheapest = min((price for price, has in offered if _holds(has, on[name])), default=math.inf)
        gain = bill.prices[name].price - cheapest
        if gain > 0:
            gains.append(gain)
    return gains


def _holds(has: Mapping[str, int], pods: Sequence[Pod]) -> bool:
    wanted: defaultdict[str, int] = defaultdict(int)
    for pod in pods:
        for resource, amount in pod.requests.items():
            wanted[resource] += amount
    return all(has.get(resource, 0) >= amount for resource, amount in wanted.items() if resource != "pods")
