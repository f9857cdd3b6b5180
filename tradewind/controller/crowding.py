"""Whether the pods that came lately crowd: then what is bound early is in the way of what comes late."""

from collections import Counter
from collections.abc import Sequence

from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner import selection

# Of what is free, in any resource. Pods that are tied to each other have fewer places than there is room.
_SHARE, _TIED_SHARE = 0.5, 0.05
# Of the pods, so that they count as tied.
_TIED = 0.25


def crowded(cache: Cache, now: float, seconds: float) -> bool:
    """Whether pods that wait, and came within so many seconds, ask for a large part of what is free.

    What has waited for longer lacks a place, not company.
    """
    pods = [pod for pod in cache.waiting() if selection.waited_seconds(pod, now) <= seconds]
    tied = sum(map(_is_tied, pods)) >= _TIED * len(pods)
    nodes = cache.snapshot().nodes
    crowd = len(pods) > 1 and len(nodes) > 0
    return crowd and _share(pods, nodes) >= (_TIED_SHARE if tied else _SHARE)


def _is_tied(pod: Pod) -> bool:
    return bool(pod.affinity or pod.anti_affinity or pod.spreads)


def _share(pods: Sequence[Pod], nodes: Nodes) -> float:
    """The largest part of what the nodes have left of any resource."""
    asked = Counter[str]()
    for pod in pods:
        asked.update(pod.requests)
    left = nodes.free.clip(0).sum(axis=1).tolist()
    rows = nodes.resource_rows
    return max((asked[each] / max(left[row], 1) for each, row in rows.items() if asked[each]), default=0.0)
