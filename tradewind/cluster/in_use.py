"""Which nodes are in use: one meaning for plans, moves, savings and metrics.

A terminating pod takes room until it is gone, as the snapshot counts it, but its node is not in use for it.
So a node whose last pods are terminating is not in use: opening it costs its price, and no pod is moved there
to save money. It is not empty either, and so no saving, until they are gone.
"""

from collections.abc import Iterable

from tradewind.cluster import bonds
from tradewind.cluster.objects import Pod

# Pods that every node of a pool has: a node with nothing else on it could be given back.
NODES_OWN = frozenset({"DaemonSet", "Node"})


def belongs_to_node(pod: Pod) -> bool:
    return (pod.owner is not None and pod.owner.kind in NODES_OWN) or bonds.MIRROR in pod.bonds


def is_occupying(pod: Pod) -> bool:
    """Whether its node is not empty because of it."""
    return bool(pod.node_name) and not (pod.finished or belongs_to_node(pod))


def is_using(pod: Pod) -> bool:
    """Whether its node is in use because of it."""
    return not pod.deleting and is_occupying(pod)


def nodes_in_use(pods: Iterable[Pod]) -> set[str]:
    return {pod.node_name for pod in pods if is_using(pod)}
