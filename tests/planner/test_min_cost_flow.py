import numpy as np
import pytest

from tradewind.planner.min_cost_flow import Network


def _two_ways(units: int, costs: tuple[float, float] = (1.0, 2.0)) -> tuple[Network, slice]:
    """From the first vertex to the second by two arcs of 3 units each."""
    network = Network()
    start, end = network.vertices(2).tolist()
    ways = network.add(start, end, [3, 3], costs)
    network.supply(start, units)
    network.supply(end, -units)
    return network, ways


@pytest.mark.parametrize(("units", "flows"), [(2, [2, 0]), (3, [3, 0]), (5, [3, 2]), (6, [3, 3])])
def test_the_cheaper_arc_is_used_up_first(units: int, flows: list[int]) -> None:
    network, ways = _two_ways(units)
    found = network.solve()
    assert found is not None
    assert found[ways].tolist() == flows


def test_what_does_not_fit_has_no_flow_at_all() -> None:
    assert _two_ways(7)[0].solve() is None


@pytest.mark.parametrize("largest", [1e-9, 1.0, 1e15])
def test_costs_of_any_size_keep_their_order(largest: float) -> None:
    network, ways = _two_ways(1, (largest, largest * (1 - 1e-6)))
    network.vertices(100_000)
    found = network.solve()
    assert found is not None
    assert found[ways].tolist() == [0, 1]


def test_arcs_are_found_by_what_adding_them_returned() -> None:
    network, ways = _two_ways(1)
    other = network.add(np.array([0, 0]), 1, 1, 0.5)
    found = network.solve()
    assert found is not None
    assert (ways, other) == (slice(0, 2), slice(2, 4))
    assert found[other].sum() == 1
