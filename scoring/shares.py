"""What is free on nodes, in shares of each node."""

from tradewind.cluster import lazy_numpy as np
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Floats, Nodes, Supply, frozen


def free_shares(pod: Pod, nodes: Nodes, resources: tuple[str, ...]) -> Floats:
    """(2, K, N) of K resources: now, and with the pod; made once for all rules that look at the same ones.

    Negative where the node has less than that; 0 of a resource that it does not have at all.
    """
    return nodes.derived(_shares, resources, tuple([pod.requests.get(resource, 0) for resource in resources]))


def allocatable(supply: Supply, resources: tuple[str, ...]) -> Amounts:
    """(K, N) of all nodes."""
    rows = [supply.resource_rows.get(resource) for resource in resources]
    none = np.zeros(supply.rows.size, np.int64)
    found = [none if row is None else supply.allocatable[row] for row in rows]
    return np.array(found, np.int64).reshape(len(resources), none.size)


def _shares(nodes: Nodes, resources: tuple[str, ...], requests: tuple[int, ...]) -> Floats:
    columns = [nodes.free_of(resource) for resource in resources]
    now = [np.zeros(len(nodes), np.int64) if column is None else column for column in columns]
    after = [column - request for column, request in zip(now, requests, strict=True)]
    amounts = np.array([*now, *after], np.int64).reshape(2, len(resources), len(nodes))
    return frozen(amounts / nodes.of_supply(_totals, resources))


def _totals(supply: Supply, resources: tuple[str, ...]) -> Floats:
    """(K, N) infinite where the node has none, so that any share of it is 0."""
    totals = allocatable(supply, resources).astype(np.float64)
    return frozen(np.where(totals > 0, totals, np.inf))
