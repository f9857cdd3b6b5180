"""The nodes of a cluster as kinds: alike in shape, price, risk, and whatever rules look at."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scoring.label_preference import LabelPreference
from tradewind.cluster.in_use import belongs_to_node
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Nodes
from tradewind.cluster.table import Rows
from tradewind.planner.problem import Floats
from tradewind.planner.standing.classes import StandingClass
from tradewind.planner.terms import prices

# A kind for each node would be none. Pods that are tied to one node stay where they are.
_NODES_NAME = "kubernetes.io/hostname"
# The same of other labels with so many values that two nodes hardly share one.
_FEW_VALUES = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeKind:
    """The key is the same from one solve to the next, also when the price changes."""

    key: Hashable
    rows: tuple[int, ...]
    capacity: Floats  # (R,) of one node, what its own pods take taken off
    price: float  # dollars an hour, of one node
    own_pods: int
    new: int  # of a pool: how many could be added; the rows only stand for them

    @property
    def count(self) -> int:
        return self.new or len(self.rows)


def node_kinds(
    nodes: Nodes, pods: Iterable[Pod], classes: Iterable[StandingClass], pools: Mapping[str, int]
) -> list[NodeKind]:
    """`pools` are nodes that do not exist, by name, and how many of each could be added."""
    own, own_pods = _own(nodes, pods)
    capacity = np.maximum(nodes.allocatable - own, 0)
    price = prices(nodes)
    table = nodes.cluster.table
    new = np.array([pools.get(name, 0) for name in table.names])
    labels = [table.domains(key).codes for key in sorted(_label_keys(classes) & table.keys)]
    labels = [codes for codes in labels if not _is_almost_unique(codes)]
    columns = np.vstack(
        [
            capacity,
            new > 0,
            nodes.durable,
            nodes.cluster.leaving,
            table.unschedulable,
            table.taints.codes,
            *labels,
            nodes.interruption_rate.view(np.int64),
        ]
    )
    alike: dict[bytes, dict[float, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, column in enumerate(np.ascontiguousarray(columns.T, np.int64)):
        alike[column.tobytes()][float(price[row])].append(row)
    return [
        NodeKind(
            key=(key, number),
            rows=tuple(rows),
            capacity=capacity[:, rows[0]].astype(np.float64),
            price=each,
            own_pods=int(own_pods[rows[0]]),
            new=int(new[rows].sum()),
        )
        for key, by_price in alike.items()
        for number, (each, rows) in enumerate(sorted(by_price.items()))
    ]


def _own(nodes: Nodes, pods: Iterable[Pod]) -> tuple[Amounts, Amounts]:
    """(R, N) and (N,) what pods of a DaemonSet, and static ones, take of each node, and how many they are."""
    taken = np.zeros(nodes.allocatable.shape, np.int64)
    count = np.zeros(len(nodes), np.int64)
    row_of = nodes.cluster.table.row_of
    for pod in pods:
        row = row_of.get(pod.node_name) if belongs_to_node(pod) and not pod.finished else None
        if row is not None:
            count[row] += 1
            for resource, amount in pod.requests.items():
                at = nodes.resource_rows.get(resource)
                if at is not None:
                    taken[at, row] += amount
    return taken, count


def _is_almost_unique(codes: Rows) -> bool:
    values = int(codes.max(initial=-1)) + 1
    return values > _FEW_VALUES and 2 * values > int(np.count_nonzero(codes >= 0))


def _label_keys(classes: Iterable[StandingClass]) -> set[str]:
    found: set[str] = set()
    for each in classes:
        found |= each.pod.node_selector.keys()
        for term in each.pod.node_terms or ():
            found |= {requirement.key for requirement in term.match_expressions or ()}
        for rule in each.policy.filters:
            if isinstance(rule, LabelPreference):
                found |= set(rule.labels)
    return found - {_NODES_NAME}


def representatives(nodes: Nodes, kinds: Sequence[NodeKind]) -> Nodes:
    return nodes.take(np.array([kind.rows[0] for kind in kinds], np.intp))
