"""How often the nodes of a pool are interrupted, as seen.

The hourly hazard of a pool has a Gamma distribution. The prior's mean is what the table or the capacity type
says, and it is worth as much as having watched a node for `prior_node_hours`. Each hour of a node that stays
adds exposure, each node that is lost adds an interruption, and both are forgotten by half in each half-life,
so that one lost node of a hundred is not one lost node of one, and last month does not outweigh today.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tradewind.market.node_history import NodeHistory, NodeMemory
from tradewind.market.pools import Pool
from tradewind.market.price_history import PriceHistory

Number = Any  # a float or a column of floats, as numpy takes them

# The rates of Spot Advisor, and so all rates here, speak of a month.
HOURS_OF_A_RATE = 730.0

# After a longer absence nobody can say why a node is gone.
_LONGEST_GAP_HOURS = 1.0
_LARGEST_PRIOR = 0.999  # certainty would be an infinite hazard
_FORGOTTEN = 0.01  # node-hours and interruptions, of a pool without nodes
_HOUR_SECONDS = 3600.0


class NodeState(StrEnum):
    STAYING = "staying"
    WARNED = "warned"  # its interruption is counted already
    DISRUPTED = "disrupted"  # by Karpenter; no interruption unless Karpenter says so
    LEAVING = "leaving"  # somebody wants it to go; that is no interruption


class Sighting(NamedTuple):
    pool: Pool
    state: NodeState = NodeState.STAYING


class Posterior(NamedTuple):
    """A Gamma distribution of the interruptions of a node in an hour; of one pool, or columns of many."""

    shape: Number
    node_hours: Number

    @property
    def hazard(self) -> Number:
        return self.shape / self.node_hours

    @property
    def rate(self) -> Number:
        """How likely a node is to be interrupted within a month."""
        return -np.expm1(-self.hazard * HOURS_OF_A_RATE)


class Evidence(NamedTuple):
    """Interruptions and node-hours, weighted by age; of one pool, or columns of many."""

    interruptions: Number = 0.0
    node_hours: Number = 0.0

    def faded(self, factor: float) -> "Evidence":
        return Evidence(self.interruptions * factor, self.node_hours * factor)

    def posterior(self, prior_rate: Number, prior_node_hours: float) -> Posterior:
        prior_hazard = -np.log1p(-np.minimum(prior_rate, _LARGEST_PRIOR)) / HOURS_OF_A_RATE
        shape = prior_hazard * prior_node_hours + self.interruptions
        return Posterior(shape, prior_node_hours + self.node_hours)


class Learner:
    """Everything seen so far. Its state is a sum, so it does not matter how often it looks."""

    def __init__(self, half_life_hours: float) -> None:
        self.half_life_hours = half_life_hours
        self.at: float | None = None  # seconds since 1970 of the last look
        self.evidence: dict[Pool, Evidence] = {}
        self.prices = PriceHistory()
        self.history = NodeHistory()
        self._seen: dict[str, Sighting] = {}

    def observe(
        self, now: float, nodes: Mapping[str, Sighting], prices: Iterable[tuple[Pool, float]] = ()
    ) -> int:
        """Record the nodes that exist now and their prices; returns the number of new interruptions."""
        hours = 0.0 if self.at is None else max(0.0, (now - self.at) / _HOUR_SECONDS)
        self._pass_time(hours, nodes)
        # Of a longer gap nobody knows which price held in it.
        self.prices.pass_time(self._factor(hours), min(hours, _LONGEST_GAP_HOURS))
        self.prices.look(prices)
        self.history.pass_time(hours, nodes)
        lost = Counter(self._lost(nodes, hours))
        for pool, count in lost.items():
            known = self.evidence.get(pool, Evidence())
            self.evidence[pool] = known._replace(interruptions=known.interruptions + count)
        self._seen = {name: self._remembered(name, sighting) for name, sighting in nodes.items()}
        self.at = now if self.at is None else max(now, self.at)
        return lost.total()

    def state(self) -> "Memory":
        pools = {pool: PoolMemory(*pool, *evidence) for pool, evidence in self.evidence.items()}
        for name, (pool, state) in self._seen.items():
            kept = pools.setdefault(pool, PoolMemory(*pool))
            getattr(kept, state).append(name)
        for pool, hours in self.prices.hours.items():
            pools.setdefault(pool, PoolMemory(*pool)).prices = sorted(hours.items())
        return Memory(at=self.at or 0.0, pools=list(pools.values()), nodes=self.history.state())

    def restore(self, memory: "Memory") -> None:
        """Resume from a stored state."""
        self.at = memory.at
        self.evidence = memory.evidence
        self.prices.hours = memory.prices
        self.history.restore(memory.nodes)
        self._seen = {
            name: Sighting(kept.pool, state)
            for kept in memory.pools
            for state in NodeState
            for name in getattr(kept, state)
        }

    def merge(self, memory: "Memory") -> None:
        """For each pool keep the evidence with more node-hours; never add up, both saw the same nodes."""
        if self.at is None:
            self.restore(memory)
            return
        hours = max(0.0, (self.at - memory.at) / _HOUR_SECONDS)
        factor = self._factor(hours)
        for kept in memory.pools:
            theirs = kept.evidence.faded(factor)
            if theirs.node_hours > self.evidence.get(kept.pool, Evidence()).node_hours:
                self.evidence[kept.pool] = theirs
        for pool, prices in memory.prices.items():
            if sum(prices.values()) * factor > sum(self.prices.hours.get(pool, {}).values()):
                self.prices.hours[pool] = {price: each * factor for price, each in prices.items()}
        self.history.merge(memory.nodes, hours, self._seen)

    def _pass_time(self, hours: float, nodes: Mapping[str, Sighting]) -> None:
        factor = self._factor(hours)
        # The integral of the fading over these hours: the same however they are cut into looks.
        exposure = self.half_life_hours / math.log(2) * (1 - factor)
        watched = self._seen.items()
        if hours > _LONGEST_GAP_HOURS:
            watched = {name: seen for name, seen in watched if name in nodes}.items()
        alive = Counter(seen.pool for _, seen in watched if seen.state is not NodeState.WARNED)
        for pool in self.evidence.keys() | alive.keys():
            interruptions, node_hours = self.evidence.get(pool, Evidence()).faded(factor)
            self.evidence[pool] = Evidence(interruptions, node_hours + alive[pool] * exposure)
        pools = {seen.pool for seen in nodes.values()}
        for pool in [pool for pool in self.evidence if pool not in pools]:
            if max(self.evidence[pool]) < _FORGOTTEN:
                del self.evidence[pool]

    def _factor(self, hours: float) -> float:
        return float(0.5 ** (hours / self.half_life_hours))

    def _lost(self, nodes: Mapping[str, Sighting], hours: float) -> Iterable[Pool]:
        for name, (pool, state) in nodes.items():
            before = self._seen.get(name)
            if state is NodeState.WARNED and (before is None or before.state is not NodeState.WARNED):
                yield pool
        if hours > _LONGEST_GAP_HOURS:
            return
        for name, (pool, state) in self._seen.items():
            # An on-demand node without a warning was not taken away: somebody gave it back.
            if name not in nodes and state is NodeState.STAYING and pool.spot:
                yield pool

    def _remembered(self, name: str, sighting: Sighting) -> Sighting:
        """A warned node stays warned, so that it is counted once."""
        before = self._seen.get(name)
        warned = before is not None and before.state is NodeState.WARNED
        return sighting._replace(state=NodeState.WARNED) if warned else sighting


class PoolMemory(msgspec.Struct, rename="camel", omit_defaults=True):
    instance_type: str
    zone: str
    capacity_type: str
    interruptions: float = 0.0
    node_hours: float = 0.0
    staying: list[str] = []
    warned: list[str] = []
    leaving: list[str] = []
    disrupted: list[str] = []
    prices: list[tuple[float, float]] = []  # a price, and the hours that it was seen for

    @property
    def pool(self) -> Pool:
        return Pool(self.instance_type, self.zone, self.capacity_type)

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.interruptions, self.node_hours)


class Memory(msgspec.Struct, omit_defaults=True):
    """What is kept over a restart: the evidence, and the nodes whose loss would still be news.

    What a version does not know of it, it ignores and leaves out when it writes.
    """

    at: float
    pools: list[PoolMemory]
    nodes: list[NodeMemory] = []  # that had troubles

    @property
    def troubles(self) -> Mapping[str, float]:
        history = NodeHistory()
        history.restore(self.nodes)
        return history.shares()

    @property
    def evidence(self) -> dict[Pool, Evidence]:
        return {kept.pool: kept.evidence for kept in self.pools}

    @property
    def prices(self) -> dict[Pool, dict[float, float]]:
        return {kept.pool: dict(kept.prices) for kept in self.pools if kept.prices}

    def medians(self) -> Mapping[Pool, float]:
        history = PriceHistory()
        history.hours = self.prices
        return history.medians()


_decoder = msgspec.json.Decoder(Memory)


def encode(memory: Memory, max_bytes: int) -> str:
    """If it is too large, drop names of nodes and prices first, then the pools with the fewest node-hours."""
    data = msgspec.json.encode(memory)
    if len(data) <= max_bytes:
        return data.decode()
    pools = sorted(memory.pools, key=lambda pool: -pool.node_hours)
    bare = [PoolMemory(*pool.pool, *pool.evidence) for pool in pools]
    while bare and len(msgspec.json.encode(Memory(memory.at, bare))) > max_bytes:
        bare = bare[: len(bare) * 3 // 4]
    return msgspec.json.encode(Memory(memory.at, bare)).decode()


def decode(data: bytes | str) -> Memory:
    """Raise ValueError for malformed data and impossible numbers."""
    memory = _decoder.decode(data)
    numbers = [memory.at, *(value for pool in memory.pools for value in pool.evidence)]
    numbers += [value for pool in memory.pools for pair in pool.prices for value in pair]
    numbers += [value for node in memory.nodes for value in (node.starts, node.troubles)]
    if not all(0 <= value < math.inf for value in numbers):
        raise ValueError("a negative or infinite number")
    if any(node.troubles > node.starts for node in memory.nodes):
        raise ValueError("more troubles than starts")
    return memory
