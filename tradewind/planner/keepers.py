"""Why a running pod is not moved, or a node not emptied: what was asked for, and what would be lost."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from scoring.topology import matching
from tradewind.cluster import bonds, hints
from tradewind.cluster.budgets import Budget, CoveringBudgets
from tradewind.cluster.in_use import belongs_to_node
from tradewind.cluster.karpenter import NODE_POOL_LABEL
from tradewind.cluster.objects import DEFAULT_SCHEDULER, Node, Pod
from tradewind.cluster.placed import group_of
from tradewind.cluster.snapshot import Snapshot

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Keeper(StrEnum):
    """In the order in which the first that holds is named. Those of nodes come before those of pods."""

    CONTROL_PLANE = "control-plane"
    LEAVING = "leaving"
    NODE = "node"
    TERMINATING = "terminating"
    DO_NOT_DISRUPT = "do-not-disrupt"
    SAFE_TO_EVICT = "safe-to-evict"
    PREFER_NO_EVICTION = "prefer-no-eviction"
    BUDGET = "disruption-budget"
    BARE = "no-controller"
    SCHEDULER = "other-scheduler"
    GANG = "gang"
    TIED = "tied"
    FOLLOWED = "followed"
    JOB = "job"
    LOCAL_STORAGE = "local-storage"
    VOLUME = "volume-unknown"
    CLAIM = "volume-claim"
    SINGLE = "single-replica"
    NOT_HELD = "not-held"
    CRITICAL = "critical"
    YOUNG = "young"
    COOLING = "cool-down"
    UNREADY = "not-ready"


SENTENCES: Mapping[Keeper, str] = {
    Keeper.CONTROL_PLANE: "part of the control plane",
    Keeper.LEAVING: "with a termination notice: they go by themselves",
    Keeper.NODE: f"annotated with {bonds.DO_NOT_DISRUPT} or {bonds.SCALE_DOWN_DISABLED}",
    Keeper.TERMINATING: "whose last pods are terminating",
    Keeper.DO_NOT_DISRUPT: "kept by pods with do-not-disrupt",
    Keeper.SAFE_TO_EVICT: 'kept by pods with safe-to-evict: "false"',
    Keeper.PREFER_NO_EVICTION: "kept by pods with prefer-no-eviction",
    Keeper.BUDGET: "kept by PodDisruptionBudgets that allow no eviction",
    Keeper.BARE: "kept by pods without a controller, which nobody would start again",
    Keeper.SCHEDULER: "kept by pods of other schedulers",
    Keeper.GANG: "kept by pods of gangs",
    Keeper.TIED: "kept by pods with placement hints that name other pods",
    Keeper.FOLLOWED: "kept by pods that others follow by pod affinity",
    Keeper.JOB: "kept by pods of Jobs, whose work would be lost",
    Keeper.LOCAL_STORAGE: "kept by pods with local storage",
    Keeper.VOLUME: "kept by pods with claims whose volumes are not known",
    Keeper.CLAIM: "kept by pods with volume claims, which are detached and attached again for a move",
    Keeper.SINGLE: "kept by workloads with a single replica",
    Keeper.NOT_HELD: "kept by pods of namespaces that are not held",
    Keeper.CRITICAL: "kept by critical pods, which are not moved for money",
    Keeper.YOUNG: "kept by pods that are too young to be moved",
    Keeper.COOLING: "cooling down, or kept by pods that were moved already",
    Keeper.UNREADY: "kept by workloads with replicas that are not Ready",
}
"""What to say of nodes."""

# What may be overruled: nobody has asked for these, they are our caution.
CAUTIONS = (Keeper.JOB, Keeper.LOCAL_STORAGE, Keeper.CLAIM, Keeper.SINGLE)

_BONDS = {
    bonds.DO_NOT_DISRUPT: Keeper.DO_NOT_DISRUPT,
    bonds.SAFE_TO_EVICT: Keeper.SAFE_TO_EVICT,
    bonds.PREFER_NO_EVICTION: Keeper.PREFER_NO_EVICTION,
    bonds.LOCAL_STORAGE: Keeper.LOCAL_STORAGE,
    bonds.CLAIM: Keeper.CLAIM,
}


@dataclass(frozen=True)
class Limits:
    """Within which running pods are moved."""

    overruled: frozenset[Keeper] = frozenset()
    schedulers: frozenset[str] = field(default=frozenset({DEFAULT_SCHEDULER, "tradewind"}))
    nodes: frozenset[str] = frozenset()  # that cool down, or that pods are on their way to
    also: Callable[[Pod], Keeper | None] = lambda _: None  # rules of live moves, which no file is asked for


class Keepers:
    """Of the pods of one moment."""

    def __init__(
        self, snapshot: Snapshot, pods: Iterable[Pod], budgets: Sequence[Budget], limits: Limits
    ) -> None:
        self._limits = limits
        placed = [pod for pod in pods if pod.node_name and not (pod.finished or pod.deleting)]
        self._ready = Counter(pod.workload for pod in placed if pod.ready)
        self._closed = {str(budget) for budget in budgets if budget.evictions(placed) < 1}
        self._budgets = CoveringBudgets(budgets)
        self._followed = _followed(snapshot, placed)
        nodes = snapshot.nodes.cluster.table.nodes
        self._of_karpenter = frozenset(node.name for node in nodes if NODE_POOL_LABEL in node.labels)

    def of_pod(self, pod: Pod) -> Keeper | None:
        """None where it may be moved, or goes with its node, or goes anyway."""
        if belongs_to_node(pod) or pod.deleting or pod.finished:
            return None
        return min(self._reasons(pod), key=_ORDER.__getitem__, default=None)

    @staticmethod
    def of_planned(pod: Pod) -> Keeper | None:
        """The same for one that is not on its node yet: its plan may change, unless it is one for several."""
        return Keeper.GANG if pod.gang or pod.pod_group else Keeper.TIED if _tied(pod) else None

    def _reasons(self, pod: Pod) -> Iterator[Keeper]:
        found = self._by_bonds(pod)
        # The Eviction API refuses pods of more than one budget.
        covering = self._budgets.of(pod)
        if len(covering) > 1 or any(str(budget) in self._closed for budget in covering):
            found.append(Keeper.BUDGET)
        if pod.owner is None:
            found.append(Keeper.BARE)
        elif pod.owner.kind == "Job":
            found.append(Keeper.JOB)
        elif self._ready[pod.workload] - pod.ready < 1:
            found.append(Keeper.SINGLE)
        if pod.scheduler_name not in self._limits.schedulers:
            found.append(Keeper.SCHEDULER)
        if pod.gang or pod.pod_group:
            found.append(Keeper.GANG)
        if _tied(pod):
            found.append(Keeper.TIED)
        if group_of(pod) in self._followed:
            found.append(Keeper.FOLLOWED)
        if (further := self._limits.also(pod)) is not None:
            found.append(further)
        return (keeper for keeper in found if keeper not in self._limits.overruled)

    def _by_bonds(self, pod: Pod) -> list[Keeper]:
        found = [_BONDS[bond] for bond in pod.bonds if bond in _BONDS]
        if pod.node_name in self._of_karpenter and Keeper.LOCAL_STORAGE in found:
            found.remove(Keeper.LOCAL_STORAGE)  # cluster-autoscaler spares such nodes, Karpenter does not
        return found if pod.volume_terms is not None else [Keeper.VOLUME, *found]


_ORDER = {keeper: number for number, keeper in enumerate(Keeper)}


def of_node(node: Node, *, leaving: bool) -> Keeper | None:
    if any(label in node.labels for label in _CONTROL_PLANE):
        return Keeper.CONTROL_PLANE
    if leaving:
        return Keeper.LEAVING
    return Keeper.NODE if node.bonds else None


def _tied(pod: Pod) -> bool:
    try:
        own = hints.read(pod)
    except hints.HintError:
        return True
    return bool(own.replaces or own.beside or own.xor.name or own.node)


def _followed(snapshot: Snapshot, placed: Iterable[Pod]) -> frozenset[object]:
    """Groups of pods that others were placed beside, by required affinity; not their own replicas."""
    cluster = snapshot.nodes.cluster
    followers = {(pod.affinity, group_of(pod)) for pod in placed if pod.affinity}
    return frozenset(
        group
        for terms, own in followers
        for term in terms
        for group in matching(cluster, term)
        if group != own and group.workload != own.workload
    )
