"""One look at the whole cluster after the other: what is there becomes a network, its solution a guide."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from scoring.policy import Policy
from tradewind.cluster.guide import Guide
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.standing.classes import NOTHING, Census, count_placeable, largest
from tradewind.planner.standing.guidance import Guidance
from tradewind.planner.standing.kinds import node_kinds
from tradewind.planner.standing.network import Network, Solution, make_network

# Nodes that the last guide needed are a little cheaper: another role must be worth it.
_DISCOUNT = 0.3
# Of the seconds between two solves, in which a count of pods comes to weigh half.
_HALF_LIFE = 2.0
# An arc from a class to a kind takes 2.4 kB, so that these are a quarter of the memory of the process.
MAX_CLASSES, MAX_ARCS = 1_000, 100_000
# A guide outlives so many solves that bring no other.
LIVES = 3


class Solver(Protocol):
    def __call__(self, network: Network, seconds: float) -> Solution | None: ...


class Solved(NamedTuple):
    guide: Guide
    solution: Solution
    new_nodes: float  # of pools, in parts
    owed: float = 0.0  # pods to come, by their controllers
    expected: float = 0.0  # pods to come, because they were there lately
    left_out: float = 0.0  # pods of classes too small to be looked at one by one


class StandingPlan:
    """Keeps what the next solve can use again: classes, counts, roles."""

    def __init__(self, seconds: float, solve: Solver, needed: Iterable[str] = ()) -> None:
        """`needed` by the guide of another process: where nothing else matters, roles stay as they were."""
        self._seconds = seconds
        self._solve = solve
        self._census = Census(_HALF_LIFE * seconds)
        self._guidance = Guidance(needed)

    def run(
        self,
        snapshot: Snapshot,
        pods: Sequence[Pod],
        policy_of: Callable[[Pod], Policy],
        now: float,
        pools: Mapping[str, int] = NOTHING,
        *,
        wanted: Mapping[str, int] = NOTHING,
    ) -> Solved | None:
        """None without nodes, or where the solver has no answer in time; `now` since 1970.

        `pools` are nodes of the snapshot that do not exist, by name, and how many of each could be added;
        `wanted` are pods by the UID of their controller.
        """
        nodes = snapshot.nodes
        everything = self._census.take(pods, policy_of, now, wanted)
        if len(nodes) <= len(pools):
            return None
        demands = largest(everything, MAX_CLASSES)
        kinds = node_kinds(nodes, pods, demands, pools)
        demands = largest(demands, max(MAX_ARCS // len(kinds), 1))
        network = make_network(nodes, kinds, demands, self._guidance.steady(nodes, kinds), _DISCOUNT)
        solution = self._solve(network, self._seconds)
        if solution is None:
            return None
        guide = self._guidance.guide(nodes, kinds, demands, solution, now=now, seconds=LIVES * self._seconds)
        added = sum(solution.opened[at] for at, kind in enumerate(kinds) if kind.new)
        return Solved(
            guide,
            solution,
            float(added),
            owed=sum(each.owed for each in demands.values()),
            expected=sum(each.expected for each in demands.values()),
            left_out=count_placeable(everything) - count_placeable(demands),
        )
