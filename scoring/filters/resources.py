from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from scoring.rules import Account, InTree, Mask, ResourceFilter, all_nodes
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes, Supply


@dataclass(frozen=True)
class Resources(InTree, ResourceFilter):
    """The pod's requests fit into what the node has left, every resource and the number of pods included.

    As in kube-scheduler a resource that the pod does not ask for is not looked at, so an overcommitted node
    still takes a pod that wants none of what is overcommitted.

    Some extended resources (those of a domain, such as example.com/gpu) are kube-scheduler's alone to judge:
    - those that its NodeResourcesFitArgs, or the `managedResources` of an extender with `ignoredByScheduler`,
      tell it to ignore. Nobody tells us, so they are named here, one by one or by their domain;
    - those that no node at all advertises. Dynamic resource allocation may stand behind one: then
      kube-scheduler finds devices for it that no node counts. Where nothing does, it has rejected every node
      before it asks us. Once a node advertises the resource, a device plugin is behind it, and it counts on
      all nodes; in a cluster that has it both ways it is to be named here.
    """

    name: ClassVar[str] = "resources"
    reason: ClassVar[str] = "node(s) had insufficient free resources"
    resolvable: ClassVar[bool] = True
    leaves_unadvertised: ClassVar[bool] = True

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
            if (
                self.leaves_unadvertised
                and _extended(resource)
                and not is_advertised(resource, nodes.columns.supply)
            ):
                continue
            free = nodes.free_of(resource)
            yield resource, np.zeros(len(nodes), np.bool_) if free is None else free >= request

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
    """As kube-scheduler judges by default: for planning and simulation without it."""

    leaves_unadvertised: ClassVar[bool] = False


@lru_cache(maxsize=1024)
def _extended(resource: str) -> bool:
    """Of somebody's domain, not Kubernetes' own; their quotas are no resources of nodes."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io") and not resource.startswith("requests.")


def is_advertised(resource: str, supply: Supply) -> bool:
    """Whether any node has some."""
    row = supply.resource_rows.get(resource)
    return row is not None and bool(supply.derived(_offered)[row])


def _offered(supply: Supply) -> Mask:
    """(R,) resources of which any node has some."""
    offered: Mask = np.any(supply.allocatable > 0, axis=1)
    return offered
