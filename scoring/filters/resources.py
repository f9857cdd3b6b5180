from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from scoring.rules import Account, InTree, Mask, ResourceFilter, all_nodes
from scoring.shares import allocatable
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes, Supply, frozen

_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"


@dataclass(frozen=True)
class Resources(InTree, ResourceFilter):
    """The pod's requests fit into what the node has left, every resource and the number of pods included.

    As in kube-scheduler a resource that the pod does not ask for is not looked at, so an overcommitted node
    still takes a pod that wants none of what is overcommitted.

    Some extended resources (those of a domain, such as example.com/gpu) are kube-scheduler's alone to judge:
    - those that its NodeResourcesFitArgs, or the `managedResources` of an extender with `ignoredByScheduler`,
      tell it to ignore. Nobody tells us, so they are named here, one by one or by their domain;
    - on a node that advertises none of it. A DeviceClass may provide the resource there: kube-scheduler then
      looks for devices, and rejects the node if there are none.
    """

    name: ClassVar[str] = "resources"
    reason: ClassVar[str] = "node(s) had insufficient free resources"
    resolvable: ClassVar[bool] = True
    delegates: ClassVar[bool] = True

    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()  # the part of a name before the slash

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        mask = all_nodes(len(nodes))
        for _, enough in self.fits(pod, nodes):
            mask = mask & enough
        return mask

    def fits(self, pod: Pod, nodes: Nodes) -> Iterator[tuple[str, Mask]]:
        """By each resource that counts, which nodes have enough of it."""
        for resource, request in self._counted(pod):
            free = nodes.free_of(resource)
            enough = np.zeros(len(nodes), np.bool_) if free is None else free >= request
            if self.delegates and is_delegable(resource):
                enough = enough | ~nodes.of_supply(_advertising, resource)
            yield resource, enough

    def needs(self, pod: Pod, nodes: Nodes) -> Mapping[Account, int]:  # noqa: ARG002  kube-scheduler's rule
        return {Account(resource): request for resource, request in self._counted(pod)}

    def left(self, account: Account, nodes: Nodes) -> Amounts:
        free = nodes.free_of(account.resource)
        return np.zeros(len(nodes), np.int64) if free is None else free

    def _counted(self, pod: Pod) -> Iterator[tuple[str, int]]:
        for resource, request in pod.requests.items():
            if request > 0 and not (_extended(resource) and self._ignores(resource)):
                yield resource, request

    def _ignores(self, resource: str) -> bool:
        group = resource.partition("/")[0]
        return resource in self.ignored_resources or group in self.ignored_resource_groups


class KubeResources(Resources):
    """For planning and simulation without kube-scheduler: what a DeviceClass provides is on no node."""

    delegates: ClassVar[bool] = False


@lru_cache(maxsize=1024)
def _extended(resource: str) -> bool:
    """Of somebody's domain, not Kubernetes' own; their quotas are no resources of nodes."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not resource.startswith("requests.")


def is_delegable(resource: str) -> bool:
    """Whether a DeviceClass may provide it on nodes that do not advertise it."""
    return _extended(resource) or resource.startswith(_DEVICE_CLASS)


def _advertising(supply: Supply, resource: str) -> Mask:
    """(N,) nodes that have some, in use or not."""
    return frozen(allocatable(supply, (resource,))[0] > 0)
