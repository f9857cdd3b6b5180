"""Whether a file holds the whole cluster: with some pods missing, nodes look empty that are not."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tradewind.cluster.budgets import Budget, CoveringBudgets
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot

_SYSTEM = "kube-system"


def missing(snapshot: Snapshot, pods: Sequence[Pod], budgets: Iterable[Budget]) -> list[str]:
    """Signs that pods are missing, in sentences without a full stop; none where the file seems complete."""
    nodes = len(snapshot.nodes)
    if not nodes:
        return []
    if not pods:
        return ["it has nodes, but no pod"]
    found = []
    namespaces = {pod.namespace for pod in pods}
    if len(namespaces) == 1 and nodes > 1:
        found.append(f"all its pods are of namespace {next(iter(namespaces))}")
    elif _SYSTEM in snapshot.nodes.cluster.namespaces and _SYSTEM not in namespaces:
        found.append(f"it has no pod of {_SYSTEM}")
    budgets = list(budgets)
    covering = CoveringBudgets(budgets)
    covered = Counter(str(budget) for pod in pods if not pod.finished for budget in covering.of(pod))
    for budget in budgets:
        if budget.healthy > covered[str(budget)]:
            counts = f"{budget.healthy:,} healthy pods, and it has {covered[str(budget)]:,}"
            return [*found, f"PodDisruptionBudget {budget} counts {counts}"]
    return found
