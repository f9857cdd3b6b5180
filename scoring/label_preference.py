"""Node labels that a pod requires or prefers by an annotation or a label of its own."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from scoring.rules import Mask, Scores, all_nodes, uniform
from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.table import NodeTable

Strictness = Literal["required", "preferred"]


@dataclass(frozen=True)
class LabelPreference:
    """The node has what the pod asks for: as a filter where that is required, as a score where preferred.

    The pod's annotation, or else its label of the same key, holds one or more alternatives, separated by
    commas (which only an annotation may hold), and the same key with `-policy` appended may say required or
    preferred. Of the `labels`, the first that a node carries tells what it has; case does not matter. To a
    pod that asks for nothing all nodes are equal.
    """

    annotation: ClassVar[str]  # without its prefix
    resolvable: ClassVar[bool] = False

    labels: tuple[str, ...] = ()
    policy: Strictness = "required"

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        wanted = self._wanted(pod)
        if not wanted or self._policy_of(pod) == "preferred":
            return all_nodes(len(nodes))
        return self._having(wanted, nodes)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        wanted = self._wanted(pod)
        return self._having(wanted, nodes).astype(np.float64) if wanted else uniform(len(nodes), 1.0)

    def _wanted(self, pod: Pod) -> frozenset[str]:
        text = _asked(pod, ANNOTATION_PREFIX + self.annotation)
        return _alternatives(text) if text else frozenset()

    def _policy_of(self, pod: Pod) -> str:
        own = _asked(pod, f"{ANNOTATION_PREFIX}{self.annotation}-policy").strip().lower()
        return own if own in {"required", "preferred"} else self.policy

    def _having(self, wanted: frozenset[str], nodes: Nodes) -> Mask:
        return nodes.cluster.table.derived(_having, self.labels, wanted).take(nodes.rows)


def _asked(pod: Pod, key: str) -> str:
    return pod.annotations.get(key) or pod.labels.get(key, "")


def _having(table: NodeTable, labels: tuple[str, ...], wanted: frozenset[str]) -> Mask:
    """(N,) of all nodes, those of which the first of the labels that they carry has one of the values."""
    mask = np.zeros(len(table), np.bool_)
    undecided = np.ones(len(table), np.bool_)
    for label in labels:
        domains = table.domains(label)
        mask |= undecided & domains.to_nodes([value.casefold() in wanted for value in domains.values])
        undecided &= ~domains.members
    return mask


def _alternatives(text: str) -> frozenset[str]:
    return frozenset(part.strip().casefold() for part in text.split(",") if part.strip())
