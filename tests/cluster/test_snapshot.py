import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.in_tree import IN_TREE
from scoring.registry import FILTERS
from tests.builders import cluster_of, node, pod, requested
from tests.scoring.drawn import UNHURRIED, Case, cases
from tradewind.cluster.groups import GroupIndex

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


def test_the_groups_of_a_workload_are_those_whose_pods_are_there() -> None:
    old = pod("old").owner("ReplicaSet", "web", "1").label("hash", "a").on("a")
    new = pod("new").owner("ReplicaSet", "web", "1").label("hash", "b").on("a")
    other = pod("other").owner("ReplicaSet", "db", "2").on("a")
    snapshot = cluster_of([node("a")], [old, new, other, pod("lone").on("a")])
    hashes = [
        dict(group.labels)["hash"]
        for group in snapshot.nodes.cluster.groups_of_workload(old.build().workload)
    ]
    assert sorted(hashes) == ["a", "b"]
    left = snapshot.without([old.build()]).nodes.cluster
    assert [group.labels for group in left.groups_of_workload(old.build().workload)] == [(("hash", "b"),)]
    assert not left.groups_of_workload("3")


@given(case=cases(), chosen=st.sets(st.integers(0, 3)), rows=st.lists(st.integers(0, 3), max_size=12))
@settings(UNHURRIED, max_examples=200)
def test_pods_taken_away_leave_what_a_cluster_that_never_had_them_has(
    case: Case, chosen: set[int], rows: list[int]
) -> None:
    gone = [each for index, each in enumerate(case.placed) if index in chosen]
    stay = [each for index, each in enumerate(case.placed) if index not in chosen]
    wanted = case.wanted.build()
    whole = cluster_of(case.nodes, case.placed, case.namespaces)
    overlay = whole.without(each.build() for each in gone).nodes
    rebuilt = cluster_of(case.nodes, stay, case.namespaces).nodes
    taken = np.array([row for row in rows if row < len(case.nodes)], np.intp)
    resources = sorted(rebuilt.resource_rows)
    assert requested(overlay)[[overlay.resource_rows[each] for each in resources]].tolist() == (
        requested(rebuilt)[[rebuilt.resource_rows[each] for each in resources]].tolist()
    )
    for rule in dict.fromkeys([*FILTERS, *IN_TREE]):
        expected = rule().feasible(wanted, rebuilt)
        np.testing.assert_array_equal(rule().feasible(wanted, overlay), expected, rule.name)
        np.testing.assert_array_equal(
            rule().feasible(wanted, overlay.take(taken)), expected[taken], rule.name
        )


def test_taking_pods_away_costs_what_the_pods_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preemption asks it of a hundred candidates in one request, of thousands of groups each."""
    placed = [pod(f"p{i}").label("app", f"app-{i}").on("abcde"[i % 5]) for i in range(200)]
    snapshot = cluster_of([node(name) for name in "abcde"], placed)
    indexed: list[object] = []
    monkeypatch.setattr(GroupIndex, "add", lambda _self, group: indexed.append(group))
    left = snapshot.without([placed[0].build(), placed[5].build()])
    assert not indexed
    assert left.nodes.columns.free is snapshot.nodes.columns.free
    assert left.nodes.take(np.array([0, 1])).free[3].tolist() == [110 - 40 + 2, 110 - 40]
