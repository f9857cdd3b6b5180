import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import node
from tradewind.cluster.selectors import holds
from tradewind.cluster.table import NodeTable
from tradewind.cluster.wire import Requirement, Taint

_TABLE = NodeTable(
    [
        node("a").label("zone", "z1").taint("slow").build(),
        node("b").unschedulable().build(),
        node("c").label("zone", "z2").build(),
        node("d").label("zone", "z1").taint("slow").build(),
    ]
)


def test_domains_of_a_label() -> None:
    domains = _TABLE.domains("zone")
    assert domains.values == ("z1", "z2")
    assert domains.codes.tolist() == [0, -1, 1, 0]
    assert domains.members.tolist() == [True, False, True, True]
    assert domains.to_nodes([True, False]).tolist() == [True, False, False, True]
    assert domains.to_nodes([False, True], otherwise=True).tolist() == [False, True, True, False]


def test_domains_of_a_label_that_nobody_has() -> None:
    domains = _TABLE.domains("rack")
    assert domains.values == ()
    assert not domains.members.any()
    assert domains.to_nodes([]).tolist() == [False] * 4
    assert domains.to_nodes([], otherwise=True).tolist() == [True] * 4


def test_nodes_by_their_taints() -> None:
    assert _TABLE.taints.values == ((Taint("slow", "", "NoSchedule"),), ())
    assert _TABLE.taints.codes.tolist() == [0, 1, 1, 0]
    assert _TABLE.unschedulable.tolist() == [False, True, False, False]


def test_rows_of_known_names() -> None:
    assert sorted(_TABLE.rows(["d", "gone", "a"]).tolist()) == [0, 3]
    assert _TABLE.rows([]).dtype == np.intp


def test_columns_are_made_once_and_cannot_be_written() -> None:
    assert _TABLE.domains("zone") is _TABLE.domains("zone")
    for column in (_TABLE.domains("zone").codes, _TABLE.taints.codes, _TABLE.unschedulable):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_labels_that_no_node_has_share_one_column() -> None:
    """Pods may ask for any number of them."""
    assert _TABLE.domains("absent-1") is _TABLE.domains("absent-2")
    assert not _TABLE.domains("absent-1").members.any()


def test_table_without_nodes() -> None:
    table = NodeTable()
    assert len(table) == 0
    assert table.satisfying([Requirement("zone", "NotIn", ("z1",))]).shape == (0,)
    assert table.taints.to_nodes([]).shape == (0,)


_requirements = st.builds(
    Requirement,
    st.sampled_from(["zone", "size"]),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(st.sampled_from(["z1", "z2", "3"]), max_size=2).map(tuple),
)
_labels = st.dictionaries(st.sampled_from(["zone", "size"]), st.sampled_from(["z1", "z2", "3", "4"]))


@given(st.lists(_labels, max_size=6), st.lists(_requirements, max_size=3))
def test_satisfying_is_every_requirement_on_every_node(
    labels: list[dict[str, str]], requirements: list[Requirement]
) -> None:
    nodes = []
    for index, each in enumerate(labels):
        built = node(f"n{index}")
        for key, value in each.items():
            built = built.label(key, value)
        nodes.append(built.build())
    expected = [all(holds(r, each.get(r.key)) for r in requirements) for each in labels]
    assert NodeTable(nodes).satisfying(requirements).tolist() == expected
