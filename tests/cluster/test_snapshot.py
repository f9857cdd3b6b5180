import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import cluster_of, node, pod

FIVE = cluster_of(
    [node(name).cpu(row + 1).price(row) for row, name in enumerate("abcde")],
    [pod(f"on-{name}").requests(cpu="100m").on(name) for name in "bd"],
)


@given(st.lists(st.integers(0, 4)))
def test_taken_rows_keep_their_values_in_the_order_asked_for(rows: list[int]) -> None:
    taken = FIVE.nodes.take(np.array(rows, dtype=np.intp))
    assert list(taken.names) == ["abcde"[row] for row in rows]
    assert len(taken) == len(rows)
    assert taken.price.tolist() == rows
    assert taken.allocatable[0].tolist() == [1000 * (row + 1) for row in rows]
    assert taken.free[0].tolist() == [1000 * (row + 1) - 100 * (row in {1, 3}) for row in rows]
    assert taken.resource_rows == FIVE.nodes.resource_rows


def test_an_overcommitted_node_has_less_than_nothing_free() -> None:
    snapshot = cluster_of([node("a").cpu(1)], [pod("x").requests(cpu=3).on("a")])
    assert snapshot.nodes.free[0].tolist() == [-2000]


def test_a_cluster_without_nodes() -> None:
    snapshot = cluster_of()
    assert len(snapshot.nodes) == 0
    assert snapshot.nodes.free.shape == (4, 0)
