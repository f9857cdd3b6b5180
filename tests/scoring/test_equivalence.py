import math

import pytest

from scoring.scorers.equivalence import Equivalence
from tests.builders import cluster_of, node, pod

_WORST = 1 - 1 / math.sqrt(2)


def deviation(cpu: float, memory: float) -> float:
    """By hand: 1 - the cosine of the free shares and (1, 1), in parts of the worst."""
    return (1 - (cpu + memory) / (math.hypot(cpu, memory) * math.sqrt(2))) / _WORST


def test_where_some_come_closer_the_most_unbalanced_of_them_wins() -> None:
    # Free shares now: skewed has 4/4 and 4/16, tilted 4/4 and 12/16, even 4/4 and 16/16.
    placed = [pod("a").requests(memory="12Gi").on("skewed"), pod("b").requests(memory="4Gi").on("tilted")]
    nodes = cluster_of([node("skewed"), node("tilted"), node("even")], placed).nodes
    # A pod of 1 core brings skewed to 3/4 : 1/4 and tilted to 3/4 : 3/4, closer; even to 3/4 : 1, away.
    scores = Equivalence().score(pod("w").requests(cpu="1").build(), nodes)
    assert scores.tolist() == pytest.approx(
        [
            0.5 + deviation(1, 0.25) / 2,
            0.5 + deviation(1, 0.75) / 2,
            (1 - deviation(0.75, 1)) / 2,
        ]
    )
    assert scores[0] > scores[1] > scores[2]


def test_where_all_move_away_the_one_that_stays_closest_wins() -> None:
    small, large = node("small").cpu("2").memory("16Gi"), node("large").cpu("16").memory("16Gi")
    nodes = cluster_of([small, large]).nodes
    # A pod of 1 core leaves 1/2 : 1 and 15/16 : 1.
    scores = Equivalence().score(pod("w").requests(cpu="1").build(), nodes)
    assert scores.tolist() == pytest.approx([1 - deviation(0.5, 1), 1 - deviation(15 / 16, 1)])
    assert scores[1] > scores[0]


def test_a_pod_in_the_ratio_of_the_node_keeps_the_balance() -> None:
    nodes = cluster_of([node("n")]).nodes
    assert Equivalence().score(pod("w").requests(cpu="1", memory="4Gi").build(), nodes).tolist() == [1]


def test_a_node_that_the_pod_fills_up_is_in_balance() -> None:
    nodes = cluster_of([node("n")]).nodes
    assert Equivalence().score(pod("w").requests(cpu="4", memory="16Gi").build(), nodes).tolist() == [1]


def test_one_resource_alone_is_always_in_balance() -> None:
    nodes = cluster_of([node("a"), node("b").cpu("64")]).nodes
    assert Equivalence(resources=("cpu",)).score(pod("w").requests(cpu="1").build(), nodes).tolist() == [1, 1]
