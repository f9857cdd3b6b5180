"""What kube-scheduler checks itself, in its order, for planning and simulation without it.

On the request path kube-scheduler has applied all of these already. It checks more than is modelled here for
pods with resource claims or needs of features that nodes declare, and of volumes how many a node can attach;
and it counts a pod that is nominated for a node as if it were there.
"""

from collections.abc import Iterable
from dataclasses import replace

from scoring.filters.host_ports import HostPorts
from scoring.filters.node_affinity import NodeAffinity
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.filters.resources import KubeResources, Resources
from scoring.filters.taints import Taints
from scoring.filters.topology_spread import TopologySpread
from scoring.filters.unschedulable import Unschedulable
from scoring.filters.volume_affinity import VolumeAffinity
from scoring.policy import Policy
from scoring.rules import Filter

IN_TREE: tuple[type[Filter], ...] = (
    Unschedulable,
    Taints,
    NodeAffinity,
    VolumeAffinity,
    HostPorts,
    KubeResources,
    TopologySpread,
    PodAffinity,
    PodAntiAffinity,
)

_RULES: tuple[Filter, ...] = tuple(rule() for rule in IN_TREE)


def in_tree(ours: Iterable[Filter]) -> tuple[Filter, ...]:
    """The rules as a cluster has them whose `ours` are these: resources that ours ignore, it ignores too."""
    resources = next((rule for rule in ours if isinstance(rule, Resources)), None)
    if resources is None or not (resources.ignored_resources or resources.ignored_resource_groups):
        return _RULES
    ignoring = KubeResources(resources.ignored_resources, resources.ignored_resource_groups)
    return tuple(ignoring if isinstance(rule, KubeResources) else rule for rule in _RULES)


def with_in_tree(policy: Policy) -> Policy:
    """For where no kube-scheduler has filtered before; a rule that both have may differ in its parameters."""
    return replace(policy, filters=(*in_tree(policy.filters), *policy.filters))
