import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from scoring.eligible import can_satisfy
from scoring.rules import Account, Mask, ResourceFilter, all_nodes
from scoring.shares import allocatable
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import LIMITS, Pod
from tradewind.cluster.snapshot import Amounts, Nodes, Supply, frozen

Factor = float | bool | Literal["off"]  # YAML reads a bare `off` as false


@dataclass(frozen=True)
class Limits(ResourceFilter):
    """With the pod, the limits of all pods on the node stay within allocatable x overcommit.

    Only resources with an overcommit factor are checked, and none has one by default: Kubernetes schedules by
    requests, and an autoscaler does not know of this rule. A pod without a limit adds nothing to the sum. For
    a pod with a limit above what any eligible node has, even if empty, that resource is not checked.
    """

    name: ClassVar[str] = "limits"
    reason: ClassVar[str] = "node(s) had no room for the pod's limits"
    resolvable: ClassVar[bool] = True

    overcommit: Mapping[str, Factor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for resource, factor in self.overcommit.items():
            if factor is True or (not _is_off(factor) and not 0 < float(factor) < math.inf):
                raise ValueError(f"overcommit.{resource}: {factor} is neither off nor a number above 0")

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = all_nodes(len(nodes))
        for account, limit in self.needs(pod, nodes).items():
            mask = mask & (limit <= self.left(account, nodes))
        return mask

    def needs(self, pod: Pod, nodes: Nodes) -> Mapping[Account, int]:
        found = {
            Account(resource, float(factor)): limit
            for resource, limit in pod.limits.items()
            if limit > 0 and not _is_off(factor := self.overcommit.get(resource, "off"))
        }
        return {each: limit for each, limit in found.items() if _has_node_for(limit, each, pod, nodes)}

    def left(self, account: Account, nodes: Nodes) -> Amounts:
        total = nodes.of_supply(_overcommitted, account.resource, account.overcommit)
        given = nodes.free_of(LIMITS + account.resource)  # no node has any: minus the sum of the pods' limits
        return total if given is None else total + given


def _has_node_for(limit: int, account: Account, pod: Pod, nodes: Nodes) -> bool:
    totals = nodes.columns.supply.derived(_overcommitted, account.resource, account.overcommit)
    return can_satisfy(pod, nodes, np.greater_equal(totals, limit))


def _overcommitted(supply: Supply, resource: str, factor: float) -> Amounts:
    return frozen(np.floor(allocatable(supply, (resource,))[0] * factor).astype(np.int64))


def _is_off(factor: Factor) -> bool:
    return factor == "off" or factor is False
