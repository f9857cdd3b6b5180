"""What holds between the weights and every plan, whatever the numbers: the laws of decision 19."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scoring.policy import Policy
from tests.builders import NodeBuilder, PodBuilder, cluster_of, node, pod
from tradewind.config import document as config
from tradewind.planner.batch import Batch, make_batch
from tradewind.planner.engine import optimise
from tradewind.planner.greedy import greedy
from tradewind.planner.problem import Assignment, Outcome, money
from tradewind.planner.rent import NO_RENT, Rent

_SPOT = ("karpenter.sh/capacity-type", "spot")
_OTHERS = ("resource_fit", "disk_type", "network_type", "stability", "equivalence")
_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_WEIGHTS = st.floats(0.1, 100)
_RENT = Rent(2.0)


def _policy(weights: Mapping[str, float]) -> Policy:
    every = dict.fromkeys((*_OTHERS, "price", "workload_priority"), 0.0) | dict(weights)
    return config.parse(f"{_HEAD}weights: {every}\n").policies().default


@st.composite
def _nodes(draw: st.DrawFn, fewest: int = 2) -> list[NodeBuilder]:
    """All prices known and no interruption rates: the expected loss stands for a scorer that is left out."""
    nodes = []
    for number in range(draw(st.integers(fewest, 4))):
        each = node(f"n{number}").cpu(draw(st.integers(4, 9))).price(draw(st.sampled_from([1, 2, 3, 5, 9])))
        each = each.annotation("tradewind.dev/interruption-rate", "0")
        nodes.append(each.label(*_SPOT) if draw(st.booleans()) else each)
    return nodes


def _running(nodes: Sequence[NodeBuilder]) -> list[PodBuilder]:
    return [pod(f"running-{n}").requests(cpu="500m").on(f"n{n}") for n in range(len(nodes))]


def _best(batch: Batch) -> Assignment:
    """By the exact engine, or the greedy floor where that is as good."""
    found = [Outcome(greedy(batch.problem), "greedy")]
    optimise(batch.problem, found[0].assignment, 20, found.append)
    assume(found[-1].engine in {"exact", "greedy"})
    return found[-1].assignment


def _batch(
    nodes: Sequence[NodeBuilder], pods: Sequence[PodBuilder], policy: Policy, rent: Rent = _RENT
) -> Batch:
    return make_batch(cluster_of(nodes, pods), [each.build() for each in pods], lambda _: policy, rent=rent)


def _row(batch: Batch) -> int:
    ((_, row),) = _best(batch)
    return row


@given(nodes=_nodes(), price=_WEIGHTS, priority=_WEIGHTS, cpu=st.integers(1, 3))
def test_a_single_pod_on_nodes_in_use_goes_to_the_node_that_is_ranked_first(
    nodes: list[NodeBuilder], price: float, priority: float, cpu: int
) -> None:
    policy = _policy({"price": price, "workload_priority": priority})
    plain = pod("p").requests(cpu=cpu)
    batch = _batch(nodes, [*_running(nodes), plain], policy)
    total = policy.total(plain.build(), batch.snapshot.nodes)
    assert total[_row(batch)] == pytest.approx(total.max(), rel=1e-4)


@given(
    nodes=_nodes(),
    price=_WEIGHTS,
    priority=_WEIGHTS,
    cpu=st.integers(1, 3),
    level=st.sampled_from([5000, -1]),
)
def test_a_plan_leaves_the_ranking_only_for_the_kind_of_node_that_the_pods_priority_asks_for(
    nodes: list[NodeBuilder], price: float, priority: float, cpu: int, level: int
) -> None:
    policy = _policy({"price": price, "workload_priority": priority})
    asking = pod("p").requests(cpu=cpu).priority(level)
    batch = _batch(nodes, [*_running(nodes), asking], policy)
    chosen, total = _row(batch), policy.total(asking.build(), batch.snapshot.nodes)
    wanted = batch.problem.durable if level > 0 else ~batch.problem.durable
    if wanted[chosen] and not wanted[np.argmax(total)]:
        total = np.where(wanted, total, -np.inf)  # first of its kind then
    assert total[chosen] == pytest.approx(total.max(), rel=1e-4)


@given(nodes=_nodes(), weights=st.fixed_dictionaries(dict.fromkeys((*_OTHERS, "price"), _WEIGHTS)))
def test_where_no_rent_is_asked_every_score_decides_between_nodes_in_use(
    nodes: list[NodeBuilder], weights: dict[str, float]
) -> None:
    policy = _policy(weights)
    plain = pod("p").requests(cpu=1)
    batch = _batch(nodes, [*_running(nodes), plain], policy, rent=NO_RENT)
    total = policy.total(plain.build(), batch.snapshot.nodes)
    assert total[_row(batch)] == pytest.approx(total.max(), rel=1e-4)


@st.composite
def _alike(draw: st.DrawFn) -> list[PodBuilder]:
    """Of one size, so that a point of score is worth the same to all of them."""
    levels = draw(st.lists(st.sampled_from([5000, 0, -1]), min_size=2, max_size=5))
    return [pod(f"w{number}").requests(cpu=2).priority(level) for number, level in enumerate(levels)]


def _sum_of(name: str, batch: Batch, assignment: Assignment) -> float:
    rules = {rule.name: rule for rule, _ in batch.groups[0].policy.scorers}
    return float(
        sum(
            pods * rules[name].score(batch.groups[index].pod, batch.snapshot.nodes)[row]
            for (index, row), pods in assignment.items()
        )
    )


@given(
    nodes=_nodes(),
    pods=_alike(),
    raised=st.sampled_from(["workload_priority", "resource_fit", "stability"]),
    weights=st.fixed_dictionaries(
        dict.fromkeys(("price", "workload_priority", "resource_fit", "stability"), st.floats(0.5, 4))
    ),
    factor=st.floats(1.0, 8.0),
)
def test_raising_a_weight_never_lowers_the_plans_sum_of_that_score(
    nodes: list[NodeBuilder], pods: list[PodBuilder], raised: str, weights: dict[str, float], factor: float
) -> None:
    sums, placed = [], []
    for each in (weights, weights | {raised: factor * weights[raised]}):
        batch = _batch(nodes, pods, _policy(each))
        found = _best(batch)
        placed.append(sum(found.values()))
        sums.append(_sum_of(raised, batch, found))
    assert placed[0] == placed[1]
    assert sums[1] >= sums[0] - 1e-2  # the solver's integers


@given(nodes=_nodes(), pods=_alike(), weights=st.tuples(_WEIGHTS, _WEIGHTS), factor=st.floats(1.0, 8.0))
def test_raising_the_weight_of_price_never_lowers_its_sum_on_nodes_in_use(
    nodes: list[NodeBuilder], pods: list[PodBuilder], weights: tuple[float, float], factor: float
) -> None:
    sums = []
    for price in (weights[0], factor * weights[0]):
        batch = _batch(
            nodes, [*_running(nodes), *pods], _policy({"price": price, "workload_priority": weights[1]})
        )
        sums.append(_sum_of("price", batch, _best(batch)))
    assert sums[1] >= sums[0] - 1e-2


@given(nodes=_nodes(fewest=1), pods=_alike())
def test_where_price_is_all_that_counts_the_plan_is_the_cheapest(
    nodes: list[NodeBuilder], pods: list[PodBuilder]
) -> None:
    batch = _batch(nodes, pods, _policy({"price": 1.0}), rent=NO_RENT)
    found = _best(batch)
    count = sum(found.values())
    # Every set of nodes that has room for as many.
    room = [each // 2000 for each in batch.problem.free[batch.snapshot.nodes.resource_rows["cpu"]].tolist()]
    sets = [[row for row in range(len(nodes)) if number >> row & 1] for number in range(1 << len(nodes))]
    cheapest = min(
        float(batch.problem.price[rows].sum()) for rows in sets if sum(room[row] for row in rows) >= count
    )
    assert money(batch.problem, found) == pytest.approx(cheapest)


@given(
    nodes=_nodes(),
    first=st.fixed_dictionaries(dict.fromkeys(("price", "workload_priority", "resource_fit"), _WEIGHTS)),
    second=st.fixed_dictionaries(dict.fromkeys(("price", "workload_priority", "resource_fit"), _WEIGHTS)),
)
def test_a_class_has_its_weights_for_itself(
    nodes: list[NodeBuilder], first: dict[str, float], second: dict[str, float]
) -> None:
    """Whatever another class weighs, a pod's own costs are the same; with room for all, so is its node."""
    theirs = config.parse(
        f"{_HEAD}classes: [{{name: x, weights: {first}}}, {{name: y, weights: {second}}}]\n"
    ).policies()
    ours = config.parse(f"{_HEAD}classes: [{{name: x, weights: {first}}}]\n").policies()
    pods = [
        pod(name).requests(cpu="500m").priority(5000).annotation("tradewind.dev/workload-class", name)
        for name in ("x", "y")
    ]
    pods = [*_running(nodes), *pods]
    snapshot, built = cluster_of(nodes, pods), [each.build() for each in pods]
    found = []
    for policies in (theirs, ours):
        batch = make_batch(snapshot, built, policies.of, rent=_RENT)
        index = next(i for i, group in enumerate(batch.groups) if group.pod.name == "x")
        rows = [row for (each, row) in _best(batch) if each == index]
        found.append((batch.problem.classes[index].cost.tolist(), rows))
    assert found[0] == found[1]
