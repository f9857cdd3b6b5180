"""A filter over other pods is a file, a test and a line in the registry: nothing else knows it.

The rule of this test keeps tenants apart: no two tenants on one node, and at most two pods of one there.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from scoring.pod_filter import PodFilter, Relations, Waiting
from scoring.policy import Policy
from scoring.rules import Mask
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.planner.cases import copies, filled, policy_of
from tests.planner.check import violations
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Amounts, Cluster, Nodes
from tradewind.planner.binding import assignment_of, valid_order
from tradewind.planner.engine import optimise
from tradewind.planner.plan import Plan, make_plan
from tradewind.planner.planner import plan
from tradewind.planner.problem import Outcome
from tradewind.planner.reasons import reasons

_TENANT = "tenant"


@dataclass(frozen=True)
class OneTenantPerNode(PodFilter):
    name: ClassVar[str] = "one_tenant_per_node"
    reason: ClassVar[str] = "in use by another tenant or full of pods of this one"
    resolvable: ClassVar[bool] = True

    max_pods: int = 2

    def feasible(self, pod: Pod, nodes: Nodes) -> Mask:
        theirs, ours = self._counts(pod.labels.get(_TENANT), nodes)
        return np.asarray((theirs == 0) & (ours < self.max_pods), np.bool_).take(nodes.rows)

    def attainable(self, pod: Pod, nodes: Nodes) -> Mask:
        return self.feasible(pod, nodes)

    def relate(self, waiting: Waiting, nodes: Nodes, relations: Relations) -> None:
        tenant_of = [each.labels.get(_TENANT) for each in waiting.pods]
        codes = np.arange(len(nodes))
        for tenant in dict.fromkeys(tenant_of):
            own = [index for index, each in enumerate(tenant_of) if each == tenant]
            relations.exclude(codes, own, (i for i, each in enumerate(tenant_of) if each != tenant))
            relations.cap(codes, self._counts(tenant, nodes)[1], own, self.max_pods)

    def label_keys(self, pods: Sequence[Pod], cluster: Cluster) -> Iterable[str]:  # noqa: ARG002  a constant
        return (_TENANT,)

    @staticmethod
    def _counts(tenant: str | None, nodes: Nodes) -> tuple[Amounts, Amounts]:
        """(N,) pods of other tenants, and of this one, on all nodes."""
        theirs, ours = np.zeros((2, len(nodes.cluster.table)), np.int64)
        for group in nodes.cluster.placed.groups:
            rows, pods = nodes.cluster.counts(group)
            (ours if dict(group.labels).get(_TENANT) == tenant else theirs)[rows] += pods
        return theirs, ours


def _policy_of(each: Pod) -> Policy:
    policy = policy_of(each)
    return replace(policy, filters=(*policy.filters, OneTenantPerNode()))


def _tenant(name: str, count: int) -> list[PodBuilder]:
    return copies(pod("p").label(_TENANT, name).requests(cpu="100m"), name, count)


def _planned(nodes: list[NodeBuilder], pods: list[PodBuilder], *, solve: bool) -> Plan:
    cache = filled(nodes, pods)
    planned = plan(cache.snapshot(), cache.all_pods(), _policy_of, None, 1)
    problem, found = planned.batch.problem, [Outcome(planned.assignment, "greedy")]
    if solve:
        optimise(problem, found[0].assignment, 5, found.append)
    order = valid_order(problem, found[-1].assignment)
    return make_plan(planned.batch, order, reasons(planned.batch, assignment_of(order)), found[-1].engine)


def test_it_is_a_filter() -> None:
    nodes = filled([node("a"), node("b")], [_tenant("x", 1)[0].on("a")]).snapshot().nodes
    x, y = (_tenant(name, 2)[1].build() for name in "xy")
    assert _policy_of(x).filter(x, nodes).feasible.tolist() == [True, True]
    assert _policy_of(y).filter(y, nodes).feasible.tolist() == [False, True]


def test_labels_that_it_looks_at_tell_pods_apart() -> None:
    """By default nobody asks for the label, and equal pods of two tenants are one class."""
    cache = filled([node("a"), node("b")], [*_tenant("x", 1), *_tenant("y", 1)])
    for policies, classes in ((policy_of, 1), (_policy_of, 2)):
        assert len(plan(cache.snapshot(), cache.all_pods(), policies, None, 1).batch.groups) == classes


@pytest.mark.parametrize("solve", [False, True], ids=["greedy", "solvers"])
def test_the_planner_follows_it(solve: bool) -> None:
    """3 pods of one tenant need two nodes and 2 of the other the third: all are full or taken then."""
    nodes = [node(name).price(price) for name, price in (("a", 1), ("b", 2), ("c", 3), ("d", 9))]
    found = _planned(nodes[:3], [*_tenant("x", 3), *_tenant("y", 3)], solve=solve)
    assert len(found.placements) == 5
    [reason] = found.unplaced.values()
    told, in_its_way = reason.split("; in its way: ")
    assert told == (
        "one_tenant_per_node: in use by another tenant or full of pods of this one"
        " (3 of 3 nodes; 3 would do without this)"
    )
    # Which tenant has three of the places is the engine's choice.
    either = (
        "3 pods like default/x-1 and 2 pods like default/y-1",
        "3 pods like default/y-1 and 2 pods like default/x-1",
    )
    assert in_its_way in either
    assert not _planned(nodes, [*_tenant("x", 3), *_tenant("y", 3)], solve=solve).unplaced


@pytest.mark.parametrize("seed", range(20))
def test_kube_scheduler_accepts_every_order_of_a_wave(seed: int) -> None:
    draw = random.Random(seed)
    nodes = [node(f"n{number}").price(draw.randint(1, 3)) for number in range(draw.randint(2, 5))]
    placed = [each.on(f"n{draw.randrange(len(nodes))}") for each in _tenant("z", draw.randint(0, 2))]
    pods = [*placed, *(each for name in "xyz"[: draw.randint(1, 3)] for each in _tenant(f"{name}", 3))]
    pods = list({each.build().uid: each for each in reversed(pods)}.values())
    found = _planned(nodes, pods, solve=seed % 4 == 0)
    placements = list(found.placements)
    for _ in range(3):
        draw.shuffle(placements)
        order = tuple(sorted(placements, key=lambda each: each.wave))
        assert violations(filled(nodes, pods), _policy_of, replace(found, placements=order)) == []
