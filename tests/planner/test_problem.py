"""The arithmetic by which placements are compared."""

import numpy as np
import pytest

from tests.builders import node, pod
from tests.planner.cases import batch_of, filled
from tradewind.planner.bound import lower_bound
from tradewind.planner.problem import money, placed_counts, value
from tradewind.planner.rent import Rent


def test_money_is_the_price_of_every_node_in_use_afterwards() -> None:
    nodes = [node("a").price(1), node("b").price(2), node("c").price(4)]
    problem = batch_of(filled(nodes, [pod("old").on("a"), pod("new")])).problem
    assert money(problem, {}) == 1
    assert money(problem, {(0, 1): 1}) == 3
    assert money(problem, {(0, 0): 1}) == 1


def test_half_of_what_opening_a_node_counts_for_is_the_median_nodes_price() -> None:
    nodes = [node("a").price(1), node("b").price(2), node("c").price(9)]
    problem = batch_of(filled(nodes, [pod("new")]), Rent(at_median=0.5)).problem
    # the means of each price and 2, the median
    np.testing.assert_allclose(problem.opening, [1.5, 2, 5.5])
    assert money(problem, {(0, 2): 1}) == 9  # bills have real prices,
    assert lower_bound(problem, {(0, 2): 1}, 10) == pytest.approx(
        1 / 110
    )  # and so has the bound: a place of 110
    nothing, opened = value(problem, {}), value(problem, {(0, 2): 1})
    assert nothing[1] - opened[1] == pytest.approx(5.5 + float(problem.classes[0].cost[2]))


def test_opening_a_node_that_others_will_share_counts_for_a_part_of_its_price() -> None:
    problem = batch_of(
        filled([node("a").price(1), node("b").price(4)], [pod("new")]), Rent(opening=0.5)
    ).problem
    np.testing.assert_allclose(problem.opening, [0.5, 2])
    assert money(problem, {(0, 1): 1}) == 4  # bills have real prices
    nothing, opened = value(problem, {}), value(problem, {(0, 1): 1})
    assert nothing[1] - opened[1] == pytest.approx(2 + float(problem.classes[0].cost[1]))


def test_value_is_the_worth_of_the_pods_then_the_cost() -> None:
    problem = batch_of(filled([node("a").price(1), node("b").price(2)], [pod("x"), pod("y")])).problem
    assert problem.pods == 2
    both, one = {(0, 0): 2}, {(0, 1): 1}
    assert placed_counts(problem, both) == [2]
    assert value(problem, both)[0] == 2 * problem.worth[0]
    assert value(problem, both) > value(problem, one)
    expected = -(1 + 2 * float(problem.classes[0].cost[0]))
    np.testing.assert_allclose(value(problem, both)[1], expected)
