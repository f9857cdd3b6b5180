import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.ranking import levels

_totals = st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        pytest.param([], [], id="no nodes"),
        pytest.param([0.4], [10], id="one node"),
        pytest.param([0.4, 0.4], [10, 10], id="equal nodes share a level"),
        pytest.param([1.0, 0.999999, 0.0], [10, 9, 0], id="a near tie still has one winner"),
        pytest.param([0.0, 1.0, 0.55, 0.55], [0, 10, 5, 5], id="the rest by distance"),
    ],
)
def test_levels(totals: list[float], expected: list[int]) -> None:
    assert levels(np.array(totals, np.float64)).tolist() == expected


@given(_totals)
def test_order_is_never_inverted_and_ties_stay_ties(totals: list[float]) -> None:
    ranked = levels(np.array(totals))
    for i, total in enumerate(totals):
        for j, other in enumerate(totals):
            if total < other:
                assert ranked[i] <= ranked[j]
            if total == other:
                assert ranked[i] == ranked[j]


@given(_totals)
def test_the_best_and_only_the_best_gets_ten(totals: list[float]) -> None:
    ranked = levels(np.array(totals))
    assert [level == 10 for level in ranked] == [total == max(totals) for total in totals]
    assert ranked.min() >= 0
