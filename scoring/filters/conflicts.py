from collections import defaultdict
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


@dataclass(frozen=True)
class Conflicts(Hint, PodFilter):
    """The node has no pod that the pod's annotation names, nor one whose annotation names the pod."""

    name: ClassVar[str] = "conflicts"
    reason: ClassVar[str] = "node(s) had a pod that the pod conflicts with"
    resolvable: ClassVar[bool] = True

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        roster = nodes.cluster.roster
        names = {each.node_name for each in roster.hostile(pod) if each.node_name and each.uid != pod.uid}
        if hints.CONFLICTS in pod.annotations:
            names |= {each.node_name for each in _matching(pod, roster) if each.uid != pod.uid}
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
        asking: dict[frozenset[str], list[int]] = defaultdict(list)
        for index in sorted(waiting.subject):
            asking[hints.readable(waiting.pods[index]).conflicts].append(index)
        asking.pop(hints.NONE.conflicts, None)
        used = frozenset[str]().union(*asking)
        named: dict[str, list[int]] = defaultdict(list)  # classes by the patterns that are for them
        for index, pod in enumerate(waiting.pods if used else ()):
            for pattern in used.intersection(hints.patterns_of(pod)):
                named[pattern].append(index)
        for patterns, left in sorted(asking.items(), key=lambda each: each[1]):
            right = {index for pattern in patterns for index in named.get(pattern, ())}
            if right:
                relations.exclude(codes, left, sorted(right))


def concerns(pod: Pod, roster: Roster) -> bool:
    """Whether a pod that is there or waits has a conflict with the pod, by either's hint."""
    return hints.CONFLICTS in pod.annotations or any(True for _ in roster.hostile(pod))


def _matching(pod: Pod, roster: Roster) -> Iterator[Pod]:
    """Pods on nodes; names are looked up, for others the pods of the namespace are looked through once."""
    patterns = hints.readable(pod).conflicts
    for pattern in patterns:
        found = roster.find(pattern)
        if found is not None:
            yield found
    begins = tuple(
        pattern.partition("/")[2].removesuffix(hints.WILD)
        for pattern in patterns
        if pattern.endswith(hints.WILD)
    )
    if begins:
        pods = roster.named.find(pod.namespace)
        yield from (each for name, each in (pods or {}).items() if name.startswith(begins))
