import pytest

from scoring.scorers.resource_fit import ResourceFit
from tests.builders import cluster_of, node, pod


def test_least_excess_is_best() -> None:
    small, large = node("small").cpu("2").memory("4Gi"), node("large").cpu("8").memory("32Gi")
    nodes = cluster_of([small, large]).nodes
    # small: cpu (2 - 1)/2 = 0.5, memory (4 - 2)/4 = 0.5: 1 - 0.5
    # large: cpu (8 - 1)/8 = 0.875, memory (32 - 2)/32 = 0.9375: 1 - 0.90625
    scores = ResourceFit().score(pod("w").requests(cpu="1", memory="2Gi").build(), nodes)
    assert scores.tolist() == pytest.approx([0.5, 0.09375])


def test_pods_already_there_count() -> None:
    nodes = cluster_of(
        [node("used"), node("empty")], [pod("a").requests(cpu="2", memory="8Gi").on("used")]
    ).nodes
    # used: cpu (2 - 1)/4 = 0.25, memory (8 - 4)/16 = 0.25; empty: cpu 3/4, memory 12/16
    scores = ResourceFit().score(pod("w").requests(cpu="1", memory="4Gi").build(), nodes)
    assert scores.tolist() == pytest.approx([0.75, 0.25])


def test_a_node_without_the_resource_has_none_to_waste() -> None:
    nodes = cluster_of([node("n").cpu("4").memory("0")]).nodes
    # cpu (4 - 1)/4 = 0.75, memory 0: 1 - 0.75/2
    assert ResourceFit().score(pod("w").requests(cpu="1").build(), nodes).tolist() == [0.625]


def test_other_resources_can_be_named() -> None:
    nodes = cluster_of([node("n").resource("example.com/gpu", 4)]).nodes
    wanted = pod("w").requests({"example.com/gpu": "1"}).build()
    # three of four are left over
    assert ResourceFit(resources=("example.com/gpu",)).score(wanted, nodes).tolist() == [0.25]


def test_a_node_that_the_pod_does_not_fit_on_is_the_worst() -> None:
    nodes = cluster_of([node("full"), node("empty")], [pod("a").requests(cpu="3500m").on("full")]).nodes
    # full: cpu counts as all of it left, memory (16 - 4)/16; empty: cpu 3/4, memory 12/16
    scores = ResourceFit().score(pod("w").requests(cpu="1", memory="4Gi").build(), nodes)
    assert scores.tolist() == pytest.approx([0.125, 0.25])


def test_the_literal_formula_favours_the_emptiest_node() -> None:
    nodes = cluster_of(
        [node("used"), node("empty")], [pod("a").requests(cpu="2", memory="8Gi").on("used")]
    ).nodes
    # used: cpu (2 - 1)/4, memory (8 - 4)/16; empty: cpu 3/4, memory 12/16
    scores = ResourceFit(formula="literal").score(pod("w").requests(cpu="1", memory="4Gi").build(), nodes)
    assert scores.tolist() == pytest.approx([0.25, 0.75])
