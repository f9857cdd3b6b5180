from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from scoring.rules import Account, Mask, ResourceFilter, everyone
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes


@dataclass(frozen=True)
class Resources(ResourceFilter):
    """The pod's requests fit into what the node has left, every resource and the number of pods included.

    As in kube-scheduler a resource that the pod does not ask for is not looked at, so an overcommitted node
    still takes a pod that wants none of what is overcommitted.
    """

    name: ClassVar[str] = "resources"
    reason: ClassVar[str] = "insufficient free resources for the pod's requests"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = everyone(len(nodes))
        for resource, request in pod.requests.items():
            if request <= 0:
                continue
            free = nodes.free_of(resource)
            if free is None:
                return np.zeros(len(nodes), np.bool_)
            mask = mask & (free >= request)
        return mask

    def needs(self, pod: Pod) -> Mapping[Account, int]:
        return {Account(resource): request for resource, request in pod.requests.items() if request > 0}

    def left(self, account: Account, nodes: Nodes) -> Amounts:
        free = nodes.free_of(account.resource)
        return np.zeros(len(nodes), np.int64) if free is None else free
