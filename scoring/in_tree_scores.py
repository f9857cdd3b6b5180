"""What kube-scheduler's default profile gives each node, for simulations without it.

Not in it: images that a node has already, and the default spreading of pods that name no constraint.
"""

from scoring.preferences import missed
from scoring.ranking import TOP, chosen, levels
from scoring.rules import Scores
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes

_MAX_NODE_SCORE = 100
_RESOURCES = ("cpu", "memory")


def plugin_scores(pod: Pod, nodes: Nodes) -> Scores:
    """(N,) LeastAllocated and BalancedAllocation at weight 1 each, and what the pod prefers."""
    used = np.stack([_used(pod, nodes, resource) for resource in _RESOURCES])
    scores: Scores = (1 - used).mean(axis=0) + (1 - used.std(axis=0))
    lacking = missed(pod, nodes)
    return _MAX_NODE_SCORE * (scores if lacking is None else scores - lacking)


def extender_scores(pod: Pod, totals: Scores, nodes: Nodes, weight: int) -> Scores:
    """(N,) our 0..10, as kube-scheduler adds them to the plugins' 0..100."""
    answered = levels(totals, chosen(pod, totals, nodes))
    return answered.astype(np.float64) * weight * (_MAX_NODE_SCORE / TOP)


def _used(pod: Pod, nodes: Nodes, resource: str) -> Scores:
    """(N,) share of the node, with the pod on it."""
    row = nodes.resource_rows[resource]
    total = nodes.allocatable[row]
    taken = total - nodes.free[row] + pod.requests.get(resource, 0)
    share: Scores = np.divide(taken, total, out=np.ones(total.size), where=total > 0)
    return share
