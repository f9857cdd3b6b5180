"""Which held pods no node can take as things are: an autoscaler does not see them while they are held."""

from collections import defaultdict
from collections.abc import Hashable, Iterable

from scoring.gangs import muster, needs_gang
from scoring.in_tree import with_in_tree
from tradewind.cluster import hints
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import PolicyOf, equality_key
from tradewind.planner.gang_room import stand


def nodeless(pods: Iterable[Pod], snapshot: Snapshot, policy_of: PolicyOf) -> list[Pod]:
    """Those that the filters allow on no node beside the pods that are bound.

    Of a gang all, if its missing members do not fit at once, and none while too few of it exist. Never an
    alternative: the second of these is to wait.
    """
    units: dict[Hashable, list[Pod]] = defaultdict(list)
    for pod in pods:
        if not hints.readable(pod).xor.name:
            units[(pod.namespace, pod.gang) if pod.gang else equality_key(pod)].append(pod)
    return [pod for unit in units.values() if not _has_node(unit[0], snapshot, policy_of) for pod in unit]


def _has_node(pod: Pod, snapshot: Snapshot, policy_of: PolicyOf) -> bool:
    nodes = snapshot.nodes
    if needs_gang(pod, nodes.cluster.roster):
        missing = muster(pod, nodes.cluster.roster).missing(pod)
        return missing is None or stand(missing, nodes, policy_of) is not None
    return bool(with_in_tree(policy_of(pod)).filter(pod, nodes).feasible.any())
