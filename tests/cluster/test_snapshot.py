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


def test_pods_added_and_taken_away_again_leave_the_cluster_as_it_was() -> None:
    repelling = pod("new").label("app", "web").anti_affinity("zone", {"app": "web"}).requests(cpu=1)
    new = [repelling.host_port(80).on("a").build(), pod("lost").on("unknown").build()]
    added = FIVE.with_pods(new)
    assert added.nodes.free[0].tolist() == [0, 1900, 3000, 3900, 5000]
    assert added.nodes.cluster.placed == cluster_of(
        [], [repelling.host_port(80).on("a"), *(pod(f"on-{name}").on(name) for name in "bd")]
    ).nodes.cluster.placed._replace(group_index=added.nodes.cluster.placed.group_index)
    assert [
        len(groups) for _, groups in added.nodes.cluster.placed.group_index.repelling({"app": "web"})
    ] == [1]
    assert FIVE.nodes.free[0].tolist() == [1000, 1900, 3000, 3900, 5000]
    back = added.without(new)
    assert back.nodes.free[0].tolist() == FIVE.nodes.free[0].tolist()
    assert back.nodes.cluster.placed.groups == FIVE.nodes.cluster.placed.groups
    assert back.nodes.cluster.placed.ports == {}


def test_the_groups_of_a_controller_are_those_whose_pods_are_there() -> None:
    old = pod("old").owner("ReplicaSet", "web", "1").label("hash", "a").on("a")
    new = pod("new").owner("ReplicaSet", "web", "1").label("hash", "b").on("a")
    other = pod("other").owner("ReplicaSet", "db", "2").on("a")
    snapshot = cluster_of([node("a")], [old, new, other, pod("lone").on("a")])
    hashes = [dict(group.labels)["hash"] for group in snapshot.nodes.cluster.groups_of_owner("1")]
    assert sorted(hashes) == ["a", "b"]
    left = snapshot.without([old.build()]).nodes.cluster
    assert [group.labels for group in left.groups_of_owner("1")] == [(("hash", "b"),)]
    assert not left.groups_of_owner("3")
