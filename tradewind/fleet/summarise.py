"""A site's summary, made from the snapshot that its Tradewind holds anyway."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from tradewind.cluster.objects import LIMITS, Node
from tradewind.cluster.snapshot import Amounts, Nodes, Snapshot
from tradewind.cluster.table import Mask
from tradewind.fleet.summary import DEFAULT_BEST, MAX_ROWS, NodeKind, NodeRow, Place, Summary

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
_MAX_WAITING = 50  # workloads
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
    """`best` nodes are listed for each resource, those with most of it free."""
    nodes = snapshot.nodes.take(np.flatnonzero(_takes_pods(snapshot.nodes)))
    resources = tuple(
        name
        for name, row in nodes.resource_rows.items()
        if not name.startswith(LIMITS) and nodes.allocatable[row].any()
    )
    rows = [nodes.resource_rows[name] for name in resources]
    free = np.maximum(nodes.free[rows], 0)
    allocatable = np.maximum(nodes.allocatable[rows], 0)
    kinds = _Kinds(nodes, allocatable, labels)
    return Summary(
        site=site,
        generation=snapshot.generation,
        time=time,
        resources=resources,
        nodes=len(nodes),
        free=_vector(free.sum(axis=1)),
        allocatable=_vector(allocatable.sum(axis=1)),
        rows=tuple(_rows(free, kinds, best)),
        kinds=tuple(kinds.used),
        place=place,
        error_rate=error_rate,
        waiting=dict(Counter(waiting or {}).most_common(_MAX_WAITING)),
    )


def _takes_pods(nodes: Nodes) -> Mask:
    cluster = nodes.cluster
    keeps_off = cluster.table.unschedulable | cluster.leaving
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


def _rows(free: Amounts, kinds: _Kinds, best: int) -> Iterator[NodeRow]:
    count = free.shape[1]
    listed: dict[int, None] = {}
    for amounts in free:
        listed |= dict.fromkeys(np.argsort(-amounts, kind="stable")[:best].tolist())
    alike = Counter((kinds.code(column), _vector(free[:, column])) for column in sorted(listed))
    rest = [column for column in range(count) if column not in listed]
    alike.update(dict(_grouped(free, rest, kinds)))
    for (kind, amounts), number in alike.most_common()[:MAX_ROWS]:
        yield NodeRow(kind, number, amounts)


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
