import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.ranking import chosen, foremost, levels
from tests.builders import cluster_of, node, pod

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


@given(_totals)
def test_of_several_best_the_chosen_one_gets_ten_and_the_others_nine(totals: list[float]) -> None:
    columns = np.array(totals)
    first = int(columns.argmax())
    ranked, shared = levels(columns, first), levels(columns)
    best = columns == columns.max()
    assert ranked[first] == 10
    assert (ranked[best] == 9).sum() == best.sum() - 1
    assert (ranked[~best] == shared[~best]).all()


_ALIKE = [node("c"), node("a"), node("b")]


def test_the_choice_does_not_depend_on_the_order_in_which_nodes_are_asked_about() -> None:
    nodes = cluster_of(_ALIKE).nodes
    wanted = pod("wanted").build()
    for rows in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        asked = nodes.take(np.array(rows))
        found = chosen(wanted, np.array([1.0, 1.0, 1.0]), asked)
        assert found is not None
        assert asked.names[found] == "c"
        assert asked.names[foremost(np.array([1.0, 1.0, 1.0]), asked)] == "c"


def test_where_the_pod_has_preferences_kube_scheduler_chooses_by_them() -> None:
    nodes, equal = cluster_of(_ALIKE).nodes, np.ones(3)
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    term = {"weight": 1, "preference": {"matchExpressions": [zone]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert chosen(pod("wanted").field("spec", "affinity", value=affinity).build(), equal, nodes) is None
    assert chosen(pod("wanted").build(), np.zeros(0), nodes.take(np.zeros(0, np.intp))) is None
