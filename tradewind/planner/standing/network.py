"""The whole cluster as a flow network: pods of a class flow to kinds of nodes, or to nobody.

Each running pod has an arc for staying; an arc for going elsewhere costs a move beside. Nodes within a kind
are alike, so that the last arcs, from a kind to its nodes, are one: how many of them are opened. Nodes that a
pool could add are kinds too, so that no room is worth more than a new node would cost. Pods that are to be
spread do not flow: they take the same share of each node. Capacities in every resource make it more than a
flow: a linear programme with a network inside.

Everything here can be sent to another process.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from scoring.pod_filter import PodFilter
from scoring.policy import Policy
from scoring.rules import ResourceFilter
from scoring.scorers.price import Price
from scoring.scorers.workload_priority import WorkloadPriority
from tradewind.cluster import hints
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.objective import pod_cost
from tradewind.planner.problem import Floats, Mask
from tradewind.planner.rent import NO_RENT
from tradewind.planner.standing.classes import Demand, StandingClass
from tradewind.planner.standing.kinds import NodeKind, representatives
from tradewind.planner.terms import Group

# Placing a pod is worth more than any saving.
_WORTH = 1e3
# Of what a pod costs an hour on its kind of node: what moving it must save at least.
_MOVE_SHARE = 0.2
# Of its price: what a node costs beside that has to be started first. Of equals the one that is there wins.
_START_SHARE = 0.1
_UNITS: Mapping[str, float] = {"cpu": 1e3, "memory": 2.0**30, "ephemeral-storage": 2.0**30}


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """C classes, K kinds and R resources; amounts in cores, GiB, and pieces."""

    class_keys: tuple[Hashable, ...]
    kind_keys: tuple[Hashable, ...]
    requests: Floats  # (R, C)
    running: Floats  # (C, K) pods that are there
    fresh: Floats  # (C,) pods that wait or are expected: they go anywhere for nothing
    cost: Floats  # (C, K) dollars an hour for one pod beside the node; infinite where it may not go
    move: Floats  # (C,) dollars an hour for a pod that is elsewhere than it was
    worth: float  # of any pod that has a place
    capacity: Floats  # (R, K) of one node
    nodes: Floats  # (K,) how many there are, or could be added
    price: Floats  # (K,) of one node, what starting it costs in it
    steady: Floats  # (K,) nodes that the plan before needed: they are kept at a discount
    discount: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """Of a network, in its order."""

    flow: Floats  # (C, K) pods
    opened: Floats  # (K,) nodes, in parts
    bids: Floats  # (R, K) what one more unit of room would save, in dollars an hour
    unplaced: Floats  # (C,)
    arcs: int
    rebuilt: int  # of these, since the solve before
    seconds: float


def unit(resource: str) -> float:
    return _UNITS.get(resource, 1.0)


def make_network(
    nodes: Nodes,
    kinds: Sequence[NodeKind],
    demands: Mapping[StandingClass, Demand],
    steady: Mapping[Hashable, int],
    discount: float,
) -> Network:
    units = np.array([unit(resource) for resource in nodes.resource_rows])
    used = representatives(nodes, kinds)
    kind_of = {nodes.cluster.table.names[row]: at for at, kind in enumerate(kinds) for row in kind.rows}
    capacity = np.array([kind.capacity for kind in kinds]).reshape(len(kinds), -1).T
    price = np.array([kind.price for kind in kinds])
    requests = np.zeros((len(units), len(demands)))
    cost = np.full((len(demands), len(kinds)), np.inf)
    running = np.zeros(cost.shape)
    move = np.zeros(len(demands))
    fresh = np.zeros(len(demands))
    count = np.array([float(kind.count) for kind in kinds])
    added = np.array([kind.new > 0 for kind in kinds], np.bool_)
    spread = np.zeros(capacity.shape)
    for index, (each, demand) in enumerate(demands.items()):
        requests[:, index] = _amounts(each, nodes)
        share = _share(requests[:, index], capacity)
        if each.policy.placement == "spread":
            open_to = _allowed(each, used) & ~added & (share > 0)
            pods_a_node = np.divide(1.0, share, out=np.zeros_like(share), where=open_to)
            part = (demand.now + demand.to_come) / max(float(pods_a_node @ count), 1.0)
            spread += part * pods_a_node * requests[:, index, None]
            continue
        own = pod_cost(each.pod, _dollars_alone(each.policy), used, price, share, rent=NO_RENT)
        fits = (requests[:, index, None] <= capacity).all(axis=0)
        cost[index] = np.where(_allowed(each, used) & fits, own, np.inf)
        move[index] = _MOVE_SHARE * float(np.median(price * share)) if len(kinds) else 0.0
        fresh[index] = demand.waiting + demand.to_come
        for name, pods in demand.running.items():
            if name in kind_of:
                running[index, kind_of[name]] += pods
    return Network(
        class_keys=tuple(each.key for each in demands),
        kind_keys=tuple(kind.key for kind in kinds),
        requests=requests / units[:, None],
        running=running,
        fresh=fresh,
        cost=cost,
        move=move,
        worth=_WORTH * float(price.max(initial=1.0)),
        capacity=np.maximum(capacity - spread, 0.0) / units[:, None],
        nodes=count,
        price=np.where(added, (1 + _START_SHARE) * price, price),
        steady=np.array([float(min(steady.get(kind.key, 0), kind.count)) for kind in kinds]),
        discount=discount,
    )


def _dollars_alone(policy: Policy) -> Policy:
    """Scorers that depend on what is on a node just now would change every arc each time."""
    kept = tuple(each for each in policy.scorers if isinstance(each[0], Price | WorkloadPriority))
    return replace(policy, scorers=kept)


def _amounts(each: StandingClass, nodes: Nodes) -> Floats:
    amounts = np.zeros(len(nodes.resource_rows))
    for resource, amount in each.pod.requests.items():
        if resource in nodes.resource_rows:
            amounts[nodes.resource_rows[resource]] = amount
    return amounts


def _share(requests: Floats, capacity: Floats) -> Floats:
    """(K,) the largest share of any resource."""
    asked = requests > 0
    shares = np.divide(
        requests[asked, None], capacity[asked], out=np.ones_like(capacity[asked]), where=capacity[asked] > 0
    )
    return np.asarray(np.minimum(shares.max(axis=0, initial=0.0), 1.0))


def _allowed(each: StandingClass, used: Nodes) -> Mask:
    mask = np.ones(len(used), np.bool_)
    for rule in Group([each.pod], each.policy, hints.NONE).filters():
        if not isinstance(rule, PodFilter | ResourceFilter):
            mask &= rule.feasible(each.pod, used)
    return mask
