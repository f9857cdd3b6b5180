"""A site's summary, made from the snapshot that its Tradewind holds anyway."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tradewind.cluster.objects import LIMITS, Node
from tradewind.cluster.snapshot import Amounts, Nodes, Snapshot
from tradewind.cluster.table import Mask
from tradewind.fleet.summary import (
    DEFAULT_BEST,
    MAX_LABELS,
    MAX_RESOURCES,
    MAX_ROWS,
    MAX_TAINTS,
    MAX_WAITING,
    NodeKind,
    NodeRow,
    Place,
    Summary,
)

# A request can ask a site only for labels that it publishes; a hostname is no property of a site.
DEFAULT_LABELS = (
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/capacityType",
    "cloud.google.com/gke-spot",
    "kubernetes.azure.com/scalesetpriority",
    "nvidia.com/gpu.product",
)
_ALWAYS = ("cpu", "memory", "pods", "ephemeral-storage")
_GROUPS = 4  # of the nodes of a kind that are not listed one by one


def summarise(
    snapshot: Snapshot,
    site: str,
    place: Place,
    *,
    time: float,
    best: int = DEFAULT_BEST,
    labels: Sequence[str] = DEFAULT_LABELS,
    error_rate: float = 0.0,
    waiting: Mapping[str, int] | None = None,
) -> Summary:
    """`best` nodes are listed for each resource, those with most of it free.

    What is over the limits of a summary is left out, and counted in `dropped`: the resources that the fewest
    nodes have, the rows that stand for the fewest nodes, the nodes with more taints than a kind may have.
    """
    nodes = snapshot.nodes.take(np.flatnonzero(_takes_pods(snapshot.nodes)))
    offered = {
        name: int(np.count_nonzero(nodes.allocatable[row]))
        for name, row in nodes.resource_rows.items()
        if not name.startswith(LIMITS) and nodes.allocatable[row].any()
    }
    common = sorted(offered, key=lambda name: (name not in _ALWAYS, -offered[name], name))
    resources = tuple(name for name in offered if name in common[:MAX_RESOURCES])
    rows = [nodes.resource_rows[name] for name in resources]
    free = np.maximum(nodes.free[rows], 0)
    allocatable = np.maximum(nodes.allocatable[rows], 0)
    kinds = _Kinds(nodes, allocatable, labels[:MAX_LABELS])
    listed, all_rows = _rows(free, kinds, best)
    dropped = {
        "resources": len(offered) - len(resources),
        "labels": max(0, len(labels) - MAX_LABELS),
        "rows": all_rows - len(listed),
    }
    return Summary(
        site=site,
        generation=snapshot.generation,
        time=time,
        resources=resources,
        nodes=len(nodes),
        free=_vector(free.sum(axis=1)),
        allocatable=_vector(allocatable.sum(axis=1)),
        rows=listed,
        kinds=tuple(kinds.used),
        place=place,
        error_rate=error_rate,
        waiting=dict(Counter(waiting or {}).most_common(MAX_WAITING)),
        dropped={what: count for what, count in dropped.items() if count},
    )


def _takes_pods(nodes: Nodes) -> Mask:
    cluster = nodes.cluster
    keeps_off = cluster.table.unschedulable | cluster.leaving
    few_taints = np.array([len(taints) <= MAX_TAINTS for taints in cluster.table.taints.values], np.bool_)
    keeps_off |= ~few_taints.take(cluster.table.taints.codes)
    return ~keeps_off.take(nodes.rows)


class _Kinds:
    """Gives each kind its number when a row first needs it, so that unused ones are not published."""

    def __init__(self, nodes: Nodes, allocatable: Amounts, labels: Sequence[str]) -> None:
        self._nodes = nodes
        self._records = [nodes.cluster.table.nodes[row] for row in nodes.rows.tolist()]
        self._allocatable = allocatable
        self._labels = labels
        self._code_of: dict[object, int] = {}
        self.used: list[NodeKind] = []

    def code(self, column: int) -> int:
        kind = self._kind(column, self._records[column])
        key = (tuple(kind.labels.items()), *_terms(kind))
        if key not in self._code_of:
            self._code_of[key] = len(self.used)
            self.used.append(kind)
        return self._code_of[key]

    def renumbered(self, rows: Sequence[NodeRow]) -> tuple[NodeRow, ...]:
        """Only the kinds of these rows are used."""
        used = list(dict.fromkeys(row.kind for row in rows))
        self.used = [self.used[kind] for kind in used]
        return tuple(NodeRow(used.index(row.kind), row.count, row.free) for row in rows)

    def _kind(self, column: int, node: Node) -> NodeKind:
        price = float(self._nodes.price[column])
        return NodeKind(
            labels={key: node.labels[key] for key in self._labels if key in node.labels},
            taints=node.taints,
            allocatable=_vector(self._allocatable[:, column]),
            price=None if math.isnan(price) else round(price, 6),
            interruption_rate=round(float(self._nodes.interruption_rate[column]), 4),
            durable=bool(self._nodes.durable[column]),
        )


def _terms(kind: NodeKind) -> tuple[object, ...]:
    return (kind.taints, kind.allocatable, kind.price, kind.interruption_rate, kind.durable)


def _rows(free: Amounts, kinds: _Kinds, best: int) -> tuple[tuple[NodeRow, ...], int]:
    """The best nodes, then the groups of most nodes; and how many rows that would be without a limit."""
    count = free.shape[1]
    listed: dict[int, None] = {}
    for amounts in free:
        listed |= dict.fromkeys(np.argsort(-amounts, kind="stable")[:best].tolist())
    alike = Counter((kinds.code(column), _vector(free[:, column])) for column in listed)
    rest = [column for column in range(count) if column not in listed]
    groups = Counter(dict(_grouped(free, rest, kinds)))
    groups.update({row: groups.pop(row) + number for row, number in alike.items() if row in groups})
    found = {**alike, **dict(groups.most_common())}
    rows = tuple(NodeRow(kind, number, amounts) for (kind, amounts), number in found.items())
    return kinds.renumbered(rows[:MAX_ROWS]), len(rows)


def _grouped(
    free: Amounts, columns: Iterable[int], kinds: _Kinds
) -> Iterator[tuple[tuple[int, tuple[int, ...]], int]]:
    """Nodes of one kind in a few groups by how full they are, each with the least of every resource."""
    by_kind: dict[int, list[int]] = {}
    for column in columns:
        by_kind.setdefault(kinds.code(column), []).append(column)
    totals: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for kind, members in by_kind.items():
        array = np.array(members, np.intp)
        ordered = array[np.argsort(free[0, array], kind="stable")]
        for group in np.array_split(ordered, min(_GROUPS, len(ordered))):
            totals[kind, _vector(free[:, group].min(axis=1))] += len(group)
    yield from totals.items()


def _vector(amounts: Amounts) -> tuple[int, ...]:
    return tuple(int(amount) for amount in amounts)
