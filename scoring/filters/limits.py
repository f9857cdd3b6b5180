import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from scoring.rules import Mask, ResourceFilter, everyone
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

Factor = float | bool | Literal["off"]  # YAML reads a bare `off` as false


@dataclass(frozen=True)
class Limits(ResourceFilter):
    """The node can serve the pod's peak: its limit is within what is free there, times an overcommit factor.

    A resource that the pod does not limit, or whose factor is off or not given, is not looked at. By default
    only memory counts: a pod that runs out of it is killed, one that runs out of cpu is slowed down.
    """

    name: ClassVar[str] = "limits"
    reason: ClassVar[str] = "insufficient free resources for the pod's limits"
    resolvable: ClassVar[bool] = True

    overcommit: Mapping[str, Factor] = field(default_factory=lambda: {"memory": 1.0})

    def __post_init__(self) -> None:
        for resource, factor in self.overcommit.items():
            if factor is True or (not _is_off(factor) and not 0 < float(factor) < math.inf):
                raise ValueError(f"overcommit.{resource}: {factor} is neither off nor a number above 0")

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = everyone(len(nodes))
        for resource, limit in pod.limits.items():
            factor = self.overcommit.get(resource, "off")
            if _is_off(factor) or limit <= 0:
                continue
            free = nodes.free_of(resource)
            if free is None:
                return np.zeros(len(nodes), np.bool_)
            mask = mask & (limit <= free * float(factor))
        return mask

    def needs(self, pod: Pod) -> Mapping[str, int]:
        factors = {resource: self.overcommit.get(resource, "off") for resource in pod.limits}
        return {
            resource: math.ceil(limit / float(factors[resource]))
            for resource, limit in pod.limits.items()
            if limit > 0 and not _is_off(factors[resource])
        }


def _is_off(factor: Factor) -> bool:
    return factor == "off" or factor is False
