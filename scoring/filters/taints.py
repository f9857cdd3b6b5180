from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scoring.rules import Mask
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import integer
from tradewind.cluster.snapshot import Nodes
from tradewind.cluster.table import NodeTable
from tradewind.cluster.wire import Taint, Toleration

_FORBIDDING = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True)
class Taints:
    """The pod tolerates every taint of the node that keeps pods away, NoSchedule or NoExecute."""

    name: ClassVar[str] = "taints"
    reason: ClassVar[str] = "node(s) had untolerated taint(s)"
    resolvable: ClassVar[bool] = False

    # Whether Lt and Gt in a toleration count: kube-scheduler's gate TaintTolerationComparisonOperators, which
    # is off unless somebody sets it. Without it such a toleration tolerates nothing.
    comparisons: bool = False

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        return tolerable(pod, nodes.cluster.table, comparisons=self.comparisons).take(nodes.rows)


def tolerable(pod: Pod, table: NodeTable, *, comparisons: bool) -> Mask:
    """(N,) of all nodes, those without a taint that keeps the pod away."""
    return tolerating(pod.tolerations, table, comparisons=comparisons)


def tolerating(tolerations: Sequence[Toleration], table: NodeTable, *, comparisons: bool) -> Mask:
    verdicts = [
        all(
            tolerated(tolerations, taint, comparisons=comparisons)
            for taint in taints
            if taint.effect in _FORBIDDING
        )
        for taints in table.taints.values
    ]
    return table.taints.to_nodes(verdicts)


def tolerated(tolerations: Sequence[Toleration], taint: Taint, *, comparisons: bool) -> bool:
    return any(_tolerates(each, taint, comparisons=comparisons) for each in tolerations)


def _tolerates(toleration: Toleration, taint: Taint, *, comparisons: bool) -> bool:
    """An effect or a key that is left out stands for all of them."""
    if (toleration.effect or taint.effect) != taint.effect or (toleration.key or taint.key) != taint.key:
        return False
    match toleration.operator or "Equal":
        case "Equal":
            return (toleration.value or "") == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparisons:
            return _compares(toleration, taint)
        case _:
            return False


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, number = _plain_integer(toleration.value or ""), _plain_integer(taint.value)
    if bound is None or number is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def _plain_integer(text: str) -> int | None:
    """An integer as people write it, without a plus or leading zeros; Kubernetes compares no others here."""
    number = integer(text)
    return number if str(number) == text else None
