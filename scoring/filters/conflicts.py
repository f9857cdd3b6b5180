from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.rules import Hint, Mask, all_nodes
from tradewind.cluster import hints
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.roster import Roster
from tradewind.cluster.snapshot import Nodes

_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Conflicts(Hint, PodFilter):
    """The node has no pod that the pod's annotation names, nor one whose annotation names the pod."""

    name: ClassVar[str] = "conflicts"
    reason: ClassVar[str] = "node(s) had a pod that the pod conflicts with"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        roster = nodes.cluster.roster
        names = {each.node_name for each in _against(pod, roster)} if roster.reaching else set[str]()
        if hints.CONFLICTS in pod.annotations:
            patterns = hints.readable(pod).conflicts
            names |= {each.node_name for each in _matching(patterns, roster) if each.uid != pod.uid}
        if not names:
            return all_nodes(len(nodes))
        mask = np.ones(len(nodes.cluster.table), np.bool_)
        mask[nodes.cluster.table.rows(names)] = False
        return mask.take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        """What is there stays there."""
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        codes = np.arange(len(nodes.cluster.table))
        wanted = {index: hints.readable(waiting.pods[index]).conflicts for index in sorted(waiting.subject)}
        for patterns in sorted(set(wanted.values()) - {()}):
            right = [i for i, pod in enumerate(waiting.pods) if hints.named(patterns, pod)]
            if right:
                relations.exclude(codes, (i for i, own in wanted.items() if own == patterns), right)


def concerns(pod: Pod, roster: Roster) -> bool:
    """Whether a pod that is there or waits has a conflict with the pod, by either's hint."""
    if hints.CONFLICTS in pod.annotations:
        return True
    return bool(roster.reaching) and any(
        hints.named(hints.readable(other).conflicts, pod) for other in roster.hostile()
    )


def _against(pod: Pod, roster: Roster) -> Iterator[Pod]:
    for other in roster.hostile():
        if other.node_name and other.uid != pod.uid and hints.named(hints.readable(other).conflicts, pod):
            yield other


def _matching(patterns: tuple[str, ...], roster: Roster) -> Iterator[Pod]:
    """Pods on nodes; a name without wildcards is looked up, a namespace without them is looked through."""
    for pattern in patterns:
        namespace = pattern.partition("/")[0]
        if _WILD.isdisjoint(pattern):
            found = roster.find(pattern)
            if found is not None:
                yield found
            continue
        spaces = roster.named.keys() if not _WILD.isdisjoint(namespace) else (namespace,)
        for space in spaces:
            pods = roster.named.find(space)
            yield from (each for each in (pods or {}).values() if hints.named((pattern,), each))
