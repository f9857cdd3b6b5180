"""A cluster as it is told to another process: whole at first, then only what has changed since."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scoring.policy import Policy
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Node, Pod
from tradewind.cluster.snapshot import Offer, Snapshot, Supply
from tradewind.planner.pools import PoolNode, pool_node
from tradewind.planner.settings import PoolTemplate

PolicyOf = Callable[[Pod], Policy]


class Changes(NamedTuple):
    number: int  # 0 for a whole cluster
    nodes: Sequence[Node]  # that came or changed
    offers: Mapping[str, Offer]  # of nodes, by name, that have another than before
    gone_nodes: Sequence[str]
    pods: Sequence[Pod]  # that came or changed
    gone_pods: Sequence[str]  # their UIDs
    policy_of: PolicyOf | None  # if it is another
    pools: Mapping[str, int]  # which of the nodes do not exist, and how many of each could be added


class Told:
    """Remembers what the other process knows: objects are replaced when they change, so a look is enough."""

    def __init__(self) -> None:
        self._number = 0
        self._nodes: dict[str, Node] = {}
        self._pools: dict[str, PoolNode] = {}
        self._existing: dict[str, Offer] = {}
        self._offers: dict[str, Offer] = {}  # those of pools too
        self._supply: Supply | None = None
        self._pods: dict[str, Pod] = {}
        self._policy_of: PolicyOf | None = None

    def changes(
        self,
        snapshot: Snapshot,
        pods: Sequence[Pod],
        policy_of: PolicyOf,
        templates: Sequence[PoolTemplate] = (),
    ) -> Changes:
        """To be told at once: from now on they count as known."""
        self._pools = self._pools_of(templates if np.isfinite(snapshot.nodes.price).any() else ())
        nodes = {node.name: node for node in snapshot.nodes.cluster.table.nodes}
        nodes |= {pool.node.name: pool.node for pool in self._pools.values()}
        self._existing = self._offers_of(snapshot)
        offers = self._existing | {pool.node.name: pool.offer for pool in self._pools.values()}
        by_uid = {pod.uid: pod for pod in pods}
        found = Changes(
            number=self._number,
            nodes=[node for name, node in nodes.items() if self._nodes.get(name) is not node],
            offers={name: each for name, each in offers.items() if self._offers.get(name) != each},
            gone_nodes=[name for name in self._nodes if name not in nodes],
            pods=[pod for uid, pod in by_uid.items() if self._pods.get(uid) is not pod],
            gone_pods=[uid for uid in self._pods if uid not in by_uid],
            policy_of=None if policy_of == self._policy_of else policy_of,
            pools={pool.node.name: pool.template.max_nodes for pool in self._pools.values()},
        )
        self._number += 1
        self._nodes, self._offers, self._pods, self._policy_of = nodes, offers, by_uid, policy_of
        return found

    def _pools_of(self, templates: Iterable[PoolTemplate]) -> dict[str, PoolNode]:
        """Nobody knows whether a pool without a price would be cheaper than what is there."""
        known = self._pools
        return {
            each.name: known[each.name]
            if each.name in known and known[each.name].template == each
            else pool_node(each, 0)
            for each in templates
            if each.price is not None
        }

    def _offers_of(self, snapshot: Snapshot) -> dict[str, Offer]:
        supply = snapshot.nodes.columns.supply
        if supply is self._supply:
            return self._existing
        self._supply = supply
        columns = (getattr(supply, field).tolist() for field in Offer._fields)
        return {
            name: Offer(*terms)
            for name, *terms in zip(snapshot.nodes.cluster.table.names, *columns, strict=True)
        }


class Listener:
    """The other side: a cache that follows what it is told."""

    def __init__(self) -> None:
        self._heard = 0
        self._offers: dict[str, Offer] = {}
        self._policy_of: PolicyOf | None = None
        self._cache = Cache(lambda node: self._offers[node.name])

    def hear(self, changes: Changes) -> tuple[Snapshot, list[Pod], PolicyOf, Mapping[str, int]]:
        """The cluster of now; raise LookupError if something was said before that was not heard."""
        if changes.number != self._heard:
            raise LookupError(f"told of changes {changes.number}, {self._heard} were to come")
        self._heard += 1
        self._policy_of = changes.policy_of or self._policy_of
        if self._policy_of is None:
            raise LookupError("told of no policy")
        with self._cache.batch():
            self._apply(changes)
        return (*self._cache.state(), self._policy_of, changes.pools)

    def _apply(self, changes: Changes) -> None:
        self._offers.update(changes.offers)
        for name in changes.gone_nodes:
            self._cache.remove_node(name)
            self._offers.pop(name, None)
        for node in changes.nodes:
            self._cache.apply_node(node)
        for uid in changes.gone_pods:
            self._cache.remove_pod(uid)
        for pod in changes.pods:
            self._cache.apply_pod(pod)
        self._reprice(changes.offers)

    def _reprice(self, offers: Mapping[str, Offer]) -> None:
        """Nodes that have changed too have theirs already."""
        known = self._cache.nodes(offers)
        columns = np.array([offers[node.name] for node in known], np.float64)
        self._cache.update_offers(known, columns.reshape(-1, len(Offer._fields)).T)
