"""Random small clusters, and the best that can be done with them, found by trying everything."""

import itertools
import random
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from scoring.filters.durable_floor import MIN, SHARE
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.topology_spread import TopologySpread
from scoring.in_tree import IN_TREE
from scoring.rules import Filter
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import HOST, ZONE, filled, policy_of
from tests.planner.check import violations
from tradewind.cluster import hints
from tradewind.cluster.cache import Cache
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner.batch import Batch
from tradewind.planner.plan import Placement, Plan
from tradewind.planner.problem import Assignment, value

_SPOT = ("karpenter.sh/capacity-type", "spot")
_RULES = tuple(rule() for rule in IN_TREE)
_NEVER_BETTER = tuple(rule for rule in _RULES if not isinstance(rule, PodAffinity | TopologySpread))


def draw_cluster(draw: random.Random) -> tuple[list[NodeBuilder], list[PodBuilder]]:
    """Up to 3 nodes, 2 placed pods and 5 waiting ones, with constraints of every kind."""
    nodes = []
    for number in range(draw.randint(1, 3)):
        each = (
            node(f"n{number}")
            .cpu(draw.choice(["1", "2", "3"]))
            .memory("4Gi")
            .price(draw.choice([1, 1, 2, 5]))
        )
        if draw.random() < 0.8:
            each = each.label(ZONE, draw.choice(["a", "b"]))
        if draw.random() < 0.4:
            each = each.label(*_SPOT)
        elif draw.random() < 0.3:
            each = each.taint("CriticalAddonsOnly")
        if draw.random() < 0.1:
            each = each.taint("maintenance", "PreferNoSchedule")
        nodes.append(each)
    placed = [
        _pod(draw, f"old{number}").on(f"n{draw.randrange(len(nodes))}")
        for number in range(draw.randint(0, 2))
    ]
    waiting: list[PodBuilder] = []
    while len(waiting) < draw.randint(1, 5):
        name = f"w{len(waiting)}"
        start = _preferring(draw, _constrained(draw, _pod(draw, name)))
        names = [f"{name}-{copy}" for copy in range(draw.choice([1, 1, 2, 3]))]
        waiting += [start.field("metadata", "name", value=each).uid(each) for each in names]
    return nodes, [*placed, *waiting[:5]]


def _pod(draw: random.Random, name: str) -> PodBuilder:
    start = pod(name).label("app", draw.choice("xy")).requests(cpu=draw.choice(["500m", "1", "1500m"]))
    if draw.random() < 0.2:
        start = start.label("tier", "t")
    return start.priority(1000) if draw.random() < 0.15 else start


def _constrained(draw: random.Random, start: PodBuilder) -> PodBuilder:  # noqa: C901, PLR0911  a table
    key = draw.choice([HOST, ZONE])
    app = {"app": draw.choice("xy")}
    match draw.randrange(16):
        case 12 | 13:
            return _floored(draw, start)
        case 14:
            return start.annotation(hints.MAX_PER_ZONE, "1")
        case 0 | 1:
            return start.anti_affinity(key, app)
        case 2:
            return start.anti_affinity(key, app).anti_affinity(HOST, {"tier": "t"})
        case 3 | 4:
            return start.affinity(key, app)
        case 5:
            return start.spread(key, app)
        case 6:
            return start.host_port(80)
        case 7:
            return start.annotation("tradewind.dev/gang", "ring")
        case 8:
            return start.annotation(hints.ONE_PER_NODE, "true")
        case 9:
            return start.annotation(hints.XOR, "one")
        case 10:
            return start.annotation(hints.CONFLICTS, "w1-*,old0").limits(memory=draw.choice(["3Gi", "5Gi"]))
        case _:
            return start


def _floored(draw: random.Random, start: PodBuilder) -> PodBuilder:
    """With a floor, which not every pod can keep: some ask for spot nodes, or for more than a node has."""
    name = str(draw.randrange(1000))
    owned = start.owner("ReplicaSet", name, name).annotation(*draw.choice([(MIN, "1"), (SHARE, "0.5")]))
    match draw.randrange(6):
        case 0:
            return owned.node_selector(*_SPOT)
        case 1:
            return owned.requests(cpu="3")
        case 2:
            return owned.toleration(key="CriticalAddonsOnly", operator="Exists")
        case _:
            return owned


def _preferring(draw: random.Random, start: PodBuilder) -> PodBuilder:
    """Every third pod would rather have something."""
    path = ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    zone = {"key": ZONE, "operator": "In", "values": [draw.choice("ab")]}
    near = {
        "topologyKey": draw.choice([HOST, ZONE]),
        "labelSelector": {"matchLabels": {"app": draw.choice("xy")}},
    }
    match draw.randrange(12):
        case 0:
            return start.field(*path, value=[{"weight": 10, "preference": {"matchExpressions": [zone]}}])
        case 1 | 3:
            kind = draw.choice(["podAffinity", "podAntiAffinity"])
            terms = [{"weight": draw.choice([1, 100]), "podAffinityTerm": near}]
            return start.field("spec", "affinity", kind, path[-1], value=terms)
        case 2:
            key = draw.choice([HOST, ZONE])
            return start.spread(key, {"app": draw.choice("xy")}, whenUnsatisfiable="ScheduleAnyway")
        case _:
            return start


class Search:
    """Through all assignments of classes to nodes that can be bound in some order."""

    def __init__(self, nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder], batch: Batch) -> None:
        self._builders = (nodes, pods)
        self._cache = filled(nodes, pods)
        self._batch = batch
        snapshot = self._cache.snapshot()
        self._free = snapshot.nodes.free
        self._resource_rows = snapshot.nodes.resource_rows
        self._hopeless = {
            (index, row)
            for index, group in enumerate(batch.groups)
            for row, name in enumerate(batch.problem.node_names)
            if not _fits(snapshot, group.pod, name, _NEVER_BETTER)
        }

    def better(self, least: tuple[float, float]) -> Assignment | None:
        """One that is worth more than `least` by more than rounding, or as much and costs less."""
        found = ((value(self._batch.problem, each), each) for each in self._possible())
        options = [(worth, each) for worth, each in found if _exceeds(worth, least)]
        for _, each in sorted(options, key=lambda option: option[0], reverse=True):
            if _gangs_whole(self._batch, each) and self.holds(each, at_the_end=True):
                return each
        return None

    def _possible(self) -> Iterator[Assignment]:
        """Without those that ask for more than there is, whatever the order."""
        shares = [list(_shares(len(group.pods), self._free.shape[1])) for group in self._batch.groups]
        for combination in itertools.product(*shares):
            assignment = {
                (index, row): count
                for index, counts in enumerate(combination)
                for row, count in enumerate(counts)
                if count
            }
            if self._hopeless.isdisjoint(assignment) and self._enough(assignment):
                yield assignment

    def _enough(self, assignment: Assignment) -> bool:
        left = self._free.copy()
        for (index, row), count in assignment.items():
            for resource, request in self._batch.groups[index].pod.requests.items():
                left[self._resource_rows[resource], row] -= count * request
        return bool(((left >= 0) | (left == self._free)).all())

    def holds(self, assignment: Assignment, *, at_the_end: bool) -> bool:
        """Whether it can be bound in some order; and if asked for, all spreads hold when all is bound.

        kube-scheduler looks at a spread when it binds a pod, and never again. The solvers give no plan that
        ends uneven; the greedy rule, which binds in its own order, may find one, and so place more.
        """
        todo = []
        for index, group in enumerate(self._batch.groups):
            rows = [row for (i, row), count in sorted(assignment.items()) if i == index for _ in range(count)]
            names = [self._batch.problem.node_names[row] for row in rows]
            todo += list(zip(group.pods, names, strict=False))
        order = _order(self._cache, todo, set())
        if order is None:
            return False
        for each, _ in order:
            self._cache.apply_pod(each)
        placements = tuple(Placement(pod=str(p), uid=p.uid, node=n, wave=0) for p, n in order)
        told = {str(p): "" for g in self._batch.groups for p in g.pods} | dict(self._batch.refused)
        unplaced = {name: why for name, why in told.items() if name not in {each.pod for each in placements}}
        plan = Plan(
            generation=0, placements=placements, unplaced=unplaced, nodes_used=0, hourly_cost=0, engine="all"
        )
        after = filled(*self._builders)
        return violations(after, policy_of, plan) == [] and (not at_the_end or _levels_hold(after, order))


def _exceeds(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] > other[0] or (one[0] == other[0] and one[1] > other[1] + 1e-4 * max(abs(other[1]), 1))


def _shares(pods: int, nodes: int) -> Iterator[tuple[int, ...]]:
    return (each for each in itertools.product(range(pods + 1), repeat=nodes) if sum(each) <= pods)


def _gangs_whole(batch: Batch, assignment: Assignment) -> bool:
    for index, group in enumerate(batch.groups):
        count = sum(pods for (i, _), pods in assignment.items() if i == index)
        if group.pod.gang:
            ring = [i for i, other in enumerate(batch.groups) if other.pod.gang == group.pod.gang]
            total = sum(pods for (i, _), pods in assignment.items() if i in ring)
            if total and (total < sum(len(batch.groups[i].pods) for i in ring) or not count):
                return False
    return True


def _order(
    cache: Cache, todo: Sequence[tuple[Pod, str]], dead_ends: set[frozenset[str]]
) -> list[tuple[Pod, str]] | None:
    """Some order in which all can be bound."""
    if not todo:
        return []
    key = frozenset(each.uid for each, _ in todo)
    if key in dead_ends:
        return None
    tried = set()
    for each, name in todo:
        kind = (tuple(each.labels.items()), tuple(each.requests.items()), each.affinity, each.spreads, name,
                each.anti_affinity, each.host_ports, tuple(each.limits.items()), each.owner,
                tuple(each.annotations.items()), tuple(each.node_selector.items()))  # fmt: skip
        if kind in tried or not _fits(cache.snapshot(), each, name):
            continue
        tried.add(kind)
        cache.apply_pod(msgspec.structs.replace(each, node_name=name))
        rest = _order(cache, [other for other in todo if other[0].uid != each.uid], dead_ends)
        if rest is not None:
            return [(each, name), *rest]
        cache.apply_pod(each)
    dead_ends.add(key)
    return None


def _fits(snapshot: Snapshot, each: Pod, name: str, rules: Sequence[Filter] = _RULES) -> bool:
    nodes = snapshot.nodes.take(np.array([snapshot.row_of[name]]))
    theirs = {rule.name for rule in _RULES}
    own = [rule for rule in policy_of(each).filters if rule.name not in theirs] if rules is _RULES else []
    return all(rule.feasible(each, nodes)[0] for rule in (*rules, *own))


def _levels_hold(cache: Cache, bound: Sequence[tuple[Pod, str]]) -> bool:
    """Also when all is bound: a spread that only held on the way there is none."""
    for each, name in bound:
        if each.spreads:
            on_node = msgspec.structs.replace(each, node_name=name)
            without = cache.snapshot().without([on_node])
            if not _fits(without, each, name):
                return False
    return True
