"""The arithmetic by which placements are compared."""

import numpy as np

from tests.builders import node, pod
from tests.planner.cases import batch_of, filled
from tradewind.planner.problem import money, placed_counts, value


def test_money_is_the_price_of_every_node_in_use_afterwards() -> None:
    nodes = [node("a").price(1), node("b").price(2), node("c").price(4)]
    problem = batch_of(filled(nodes, [pod("old").on("a"), pod("new")])).problem
    assert money(problem, {}) == 1
    assert money(problem, {(0, 1): 1}) == 3
    assert money(problem, {(0, 0): 1}) == 1


def test_value_is_the_worth_of_the_pods_then_the_cost() -> None:
    problem = batch_of(filled([node("a").price(1), node("b").price(2)], [pod("x"), pod("y")])).problem
    assert problem.pods == 2
    both, one = {(0, 0): 2}, {(0, 1): 1}
    assert placed_counts(problem, both) == [2]
    assert value(problem, both)[0] == 2 * problem.worth[0]
    assert value(problem, both) > value(problem, one)
    expected = -(1 + 2 * float(problem.classes[0].cost[0]))
    np.testing.assert_allclose(value(problem, both)[1], expected)
