"""A snapshot with nodes that the watch has not brought yet, because a request carries them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.lazy_numpy import NDArray
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Amounts, Columns, Nodes, Number, Offer, Snapshot, Supply, frozen
from tradewind.cluster.table import NodeTable


def with_nodes(
    snapshot: Snapshot, nodes: Sequence[Node], offers: Sequence[Offer], pods: Iterable[Pod]
) -> Snapshot:
    """`pods` are on the new nodes, and count in the snapshot's groups already."""
    if not nodes:
        return snapshot
    cluster, old = snapshot.nodes.cluster, snapshot.nodes.columns.supply
    table = NodeTable([*cluster.table.nodes, *nodes])
    resource_rows = dict(old.resource_rows)
    for resource in (resource for node in nodes for resource in node.allocatable):
        resource_rows.setdefault(resource, len(resource_rows))
    added = np.zeros((len(resource_rows), len(nodes)), np.int64)
    for column, node in zip(added.T, nodes, strict=True):
        for resource, amount in node.allocatable.items():
            column[resource_rows[resource]] = amount
    left = added.copy()
    for pod in pods:
        column = left[:, table.row_of[pod.node_name] - len(old.rows)]
        for resource, amount in pod.requests.items():
            if resource in resource_rows:
                column[resource_rows[resource]] -= amount
    terms = [np.array(column) for column in zip(*offers, strict=True)]
    supply = Supply(
        rows=frozen(np.arange(len(table))),
        resource_rows=resource_rows,
        allocatable=_beside(old.allocatable, added),
        price=_longer(old.price, terms[0]),
        median_price=_longer(old.median_price, terms[1]),
        interruption_rate=_longer(old.interruption_rate, terms[2]),
        durable=_longer(old.durable, terms[3]),
        leaving=_longer(old.leaving, terms[4]),
    )
    columns = Columns(supply=supply, free=_beside(snapshot.nodes.free, left))
    cluster = replace(cluster, table=table, durable=supply.durable, leaving=supply.leaving)
    return replace(snapshot, nodes=Nodes(rows=supply.rows, columns=columns, cluster=cluster))


def _beside(old: Amounts, added: Amounts) -> Amounts:
    """Both, and zeros for resources of which no old node has any."""
    resources = len(added) - len(old)
    return frozen(np.hstack([np.pad(old, ((0, resources), (0, 0))), added]))


def _longer(old: NDArray[Number], added: NDArray[Number]) -> NDArray[Number]:
    return frozen(np.concatenate([old, added.astype(old.dtype)]))
