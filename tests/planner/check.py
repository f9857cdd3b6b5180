"""Whether kube-scheduler could follow a plan: every rule again, pod by pod in binding order.

Shares nothing with the engines: the filters look at a cluster in which the earlier pods are bound.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from scoring.filters.gang import Gang
from scoring.in_tree import IN_TREE
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches, parse_selector
from tradewind.cluster.snapshot import Snapshot
from tradewind.cluster.table import NodeTable
from tradewind.planner.batch import PolicyOf
from tradewind.planner.plan import Plan


def violations(cache: Cache, policy_of: PolicyOf, plan: Plan) -> list[str]:
    """What is wrong with the plan, empty if nothing is; the cache is left with the pods on their nodes."""
    pods = {str(pod): pod for pod in cache.all_pods()}
    found: list[str] = []
    waiting = [name for name, pod in pods.items() if not (pod.node_name or pod.finished or pod.deleting)]
    told = Counter([*(each.pod for each in plan.placements), *plan.unplaced])
    found += [f"{name} is told of {told[name]} times" for name in waiting if told[name] != 1]
    _remove_replaced(cache, pods, plan)
    bound: list[Pod] = []
    for each in plan.placements:
        pod = pods[each.pod]
        found += _refusals(cache.snapshot(), pod, each.node, policy_of)
        on_node = msgspec.structs.replace(pod, node_name=each.node)
        cache.apply_pod(on_node)
        bound.append(on_node)
    return found + list(_broken_hints(cache.all_pods(), bound, pods, cache.snapshot()))


def _remove_replaced(cache: Cache, pods: dict[str, Pod], plan: Plan) -> None:
    for each in plan.placements:
        name = hints.readable(pods[each.pod]).replaces
        if name in pods and pods[name].node_name:
            cache.remove_pod(pods[name].uid)


def _refusals(snapshot: Snapshot, pod: Pod, node: str, policy_of: PolicyOf) -> Iterator[str]:
    nodes = snapshot.nodes.take(np.array([snapshot.row_of[node]]))
    theirs = {rule.name for rule in IN_TREE}
    theirs.add(Gang.name)  # a plan of a gang is of all of it
    rules = [*(rule() for rule in IN_TREE), *(r for r in policy_of(pod).filters if r.name not in theirs)]
    for rule in rules:
        if not rule.feasible(pod, nodes).all():
            yield f"{pod} on {node}: {rule.reason}"


def _broken_hints(
    pods: Sequence[Pod], bound: Sequence[Pod], before: dict[str, Pod], snapshot: Snapshot
) -> Iterator[str]:
    placed = [pod for pod in pods if pod.node_name and not pod.finished]
    node_of = {str(pod): pod.node_name for pod in placed}
    table = snapshot.nodes.cluster.table
    for pod in bound:
        asked = hints.readable(pod)
        labels = table.nodes[table.row_of[pod.node_name]].labels
        near = [other for other in placed if other.node_name == pod.node_name and other.uid != pod.uid]
        if asked.node not in {"", pod.node_name}:
            yield f"{pod} is not on its node"
        if asked.node_labels and not matches(parse_selector(asked.node_labels), labels):
            yield f"{pod} is on a node without the labels it asks for"
        if any(hints.is_named(asked.conflicts, other) for other in near):
            yield f"{pod} is beside a pod it conflicts with"
        if any(hints.is_named(hints.readable(other).conflicts, pod) for other in near):
            yield f"{pod} is beside a pod that conflicts with it"
        if asked.beside and node_of.get(asked.beside) != pod.node_name:
            yield f"{pod} is not beside {asked.beside}"
        if asked.replaces and before[asked.replaces].node_name not in {"", pod.node_name}:
            yield f"{pod} does not take the node of {asked.replaces}"
        if asked.one_per_node and any(_same(other, pod, hints.ONE_PER_NODE) for other in near):
            yield f"{pod} is not alone of its kind"
        if asked.max_per_zone and _crowded(pod, asked.max_per_zone, placed, table):
            yield f"{pod} is one too many in its zone"
    yield from _broken_groups(placed, bound)


def _crowded(pod: Pod, most: int, placed: Sequence[Pod], table: NodeTable) -> bool:
    zone_of = {node.name: node.labels.get(hints.SPREAD_KEY) for node in table.nodes}
    zone = zone_of[pod.node_name]
    alike = [other for other in placed if _same(other, pod, hints.MAX_PER_ZONE)]
    return zone is not None and sum(zone_of[other.node_name] == zone for other in alike) > most


def _broken_groups(placed: Sequence[Pod], bound: Sequence[Pod]) -> Iterator[str]:
    asked = [(pod, hints.readable(pod).xor) for pod in placed]
    for name in {hints.readable(pod).xor.name for pod in bound} - {""}:
        there = [(pod, own) for pod, own in asked if own.name == name]
        if len(there) > min(own.max_pods for _, own in there):
            yield f"too many of the alternatives {name}"
        on_node = Counter(pod.node_name for pod, _ in there)
        if max(on_node.values()) > min([own.per_node for _, own in there if own.per_node], default=999):
            yield f"too many of the alternatives {name} on one node"


def gangs_kept(pods: Sequence[Pod], plan: Plan) -> Iterator[str]:
    """Gangs of which too few pods have a place."""
    planned = {each.pod for each in plan.placements}
    gangs: dict[tuple[str, str], list[Pod]] = {}
    for pod in pods:
        if pod.gang:
            gangs.setdefault((pod.namespace, pod.gang), []).append(pod)
    for (_, name), members in gangs.items():
        least = max(hints.readable(pod).gang_min for pod in members) or len(members)
        count = sum(bool(pod.node_name) or str(pod) in planned for pod in members)
        if 0 < count < least and any(str(pod) in planned for pod in members):
            yield f"of gang {name} {count} pods are placed, not {least}"


def _same(one: Pod, other: Pod, annotation: str) -> bool:
    """Two pods of a workload that both carry the annotation."""
    if not {annotation} <= one.annotations.keys() & other.annotations.keys():
        return False
    if one.owner and other.owner:
        return one.owner.uid == other.owner.uid
    return one.owner == other.owner and (one.namespace, one.labels) == (other.namespace, other.labels)
