"""Nodes that do not exist yet: on which pool's new nodes the pods would fit that found no place.

Planned on as many empty nodes of each pool as may be added. Pods that are placed already, and what they ask
for or keep away, are not looked at: the autoscaler decides, and looks for itself.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Namespace, Node, Pod
from tradewind.cluster.snapshot import Offer
from tradewind.planner.batch import PolicyOf, make_batch
from tradewind.planner.binding import valid_order
from tradewind.planner.deadline import is_over
from tradewind.planner.problem import Assignment, Problem
from tradewind.planner.settings import PoolTemplate

_HOST = "kubernetes.io/hostname"
# What a kubelet takes unless told otherwise.
_PODS = 110


class Growth(NamedTuple):
    pools: Mapping[str, str]  # namespace/name of the pod to the pool
    nodes: Mapping[str, int]  # pool to new nodes


NONE = Growth({}, {})


class PoolNode(NamedTuple):
    """An empty node that does not exist yet."""

    template: PoolTemplate
    node: Node
    offer: Offer


def growth(
    templates: Sequence[PoolTemplate],
    pods: Sequence[Pod],
    namespaces: Collection[Namespace],
    policy_of: PolicyOf,
    solve: Callable[[Problem], Assignment],
    *,
    step_seconds: float = math.inf,
) -> Growth:
    """Pools of higher weight are filled first, whatever they cost.

    `step_seconds` as for `planner.plan`; no pools of lower weight are begun with after as long.
    """
    found = NONE
    deadline = time.monotonic() + step_seconds
    for weight in sorted({each.weight for each in templates}, reverse=True):
        if is_over(deadline):
            break
        left = [pod for pod in pods if str(pod) not in found.pools]
        of_weight = [each for each in templates if each.weight == weight]
        grown = _grown(of_weight, left, namespaces, policy_of, solve, step_seconds=step_seconds)
        found = Growth({**found.pools, **grown.pools}, {**found.nodes, **grown.nodes})
    return found


def _grown(
    templates: Sequence[PoolTemplate],
    pods: Sequence[Pod],
    namespaces: Collection[Namespace],
    policy_of: PolicyOf,
    solve: Callable[[Problem], Assignment],
    *,
    step_seconds: float,
) -> Growth:
    if not pods:
        return NONE
    cache, pool_of = _empty_nodes(templates, len(pods))
    for namespace in namespaces:
        cache.apply_namespace(namespace)
    batch = make_batch(cache.snapshot(), pods, _packing(policy_of), seconds=step_seconds)
    found = solve(batch.problem)
    order = valid_order(batch.problem, found, deadline=time.monotonic() + step_seconds)
    waiting = [iter(group.pods) for group in batch.groups]
    names = batch.problem.node_names
    return Growth(
        {str(next(waiting[step.number])): pool_of[names[step.row]] for step in order},
        Counter(pool_of[names[row]] for row in {step.row for step in order}),
    )


def _packing(policy_of: PolicyOf) -> PolicyOf:
    """Pods that are spread go to the nodes that are there; none is added for that alone."""
    packing: dict[str, Policy] = {}

    def packed(pod: Pod) -> Policy:
        policy = policy_of(pod)
        return packing.setdefault(policy.workload_class, replace(policy, placement="pack"))

    return packed


def _empty_nodes(templates: Iterable[PoolTemplate], max_nodes: int) -> tuple[Cache, Mapping[str, str]]:
    """No pool needs more nodes than there are pods. The mapping is from node to pool."""
    pool_of: dict[str, str] = {}
    offers: dict[str, Offer] = {}
    cache = Cache(lambda node: offers[node.name])
    for template in templates:
        for number in range(min(template.max_nodes, max_nodes)):
            _, node, offer = pool_node(template, number)
            offers[node.name], pool_of[node.name] = offer, template.name
            cache.apply_node(node)
    return cache, pool_of


def pool_node(template: PoolTemplate, number: int) -> PoolNode:
    name = f"{template.name}/{number}"  # no name of a real node
    price = math.nan if template.price is None else template.price
    node = Node(
        name=name,
        labels={**template.labels, _HOST: name},
        annotations={},
        allocatable={"pods": _PODS, **template.allocatable()},
        taints=tuple(taint.taint() for taint in template.taints),
    )
    return PoolNode(template, node, Offer(price, price, template.interruption_rate, template.durable))
