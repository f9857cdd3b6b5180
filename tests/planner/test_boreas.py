"""The five deployments of the Boreas thesis, on its six nodes of 0.9 cores and 3931 MB."""

import pytest

from tests.builders import PodBuilder
from tests.planner.cases import apart, boreas_nodes, near, planned, replicas


def _verification() -> list[PodBuilder]:
    return replicas("simple", 30, "180m", "750M")


def _a() -> list[PodBuilder]:
    return replicas("simple", 20, "180m", "750M")


def _b(balder: list[PodBuilder] | None = None) -> list[PodBuilder]:
    return [
        *(balder or replicas("balder", 4, "200m", "800M")),
        *near(apart(replicas("freyja", 4, "300m", "1200M"), "freyja"), "nerthus"),
        *apart(replicas("nerthus", 4, "300m", "1200M"), "nerthus"),
        *replicas("skadi", 8, "200m", "800M"),
    ]


def _c() -> list[PodBuilder]:
    return _b(apart(replicas("balder", 4, "200m", "800M"), "skadi"))


def _d() -> list[PodBuilder]:
    return [
        *apart(replicas("asperitas", 3, "400m", "1800M"), "asperitas"),
        *replicas("cirrus", 2, "200m", "900M"),
        *near(apart(replicas("cumulus", 3, "200m", "900M"), "cumulus"), "asperitas"),
        *apart(replicas("nimbus", 2, "200m", "900M"), "nimbus", "asperitas"),
        *apart(replicas("stratus", 4, "200m", "900M"), "stratus"),
    ]


@pytest.mark.parametrize(
    ("pods", "nodes"),
    [
        pytest.param(_verification(), 6, id="verification fills the cluster"),
        pytest.param(_a(), 4, id="A leaves two nodes empty"),
        pytest.param(_b(), 6, id="B finds a place for every follower"),
        pytest.param(_c(), 6, id="C keeps balder and skadi apart"),
        pytest.param(_d(), 5, id="D leaves a node empty"),
    ],
)
def test_every_pod_is_placed_on_the_fewest_nodes(pods: list[PodBuilder], nodes: int) -> None:
    plan = planned(boreas_nodes(), pods)
    assert len(plan.placements) == len(pods)
    assert plan.nodes_used == nodes
    assert plan.engine == "exact"


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param(_verification(), id="verification"),
        pytest.param(_a(), id="A"),
        pytest.param(_b(), id="B"),
        pytest.param(_c(), id="C"),
        pytest.param(_d(), id="D"),
    ],
)
def test_the_flow_places_every_pod_too(pods: list[PodBuilder]) -> None:
    assert len(planned(boreas_nodes(), pods, engine="flow").placements) == len(pods)


def test_the_greedy_floor_alone_does_not_solve_c() -> None:
    """Else the test above would prove nothing about the solver."""
    assert len(planned(boreas_nodes(), _c(), solve=False).placements) < 20


def test_anchors_come_in_an_earlier_wave_than_followers() -> None:
    plan = planned(boreas_nodes(), _c())
    wave = {each.pod: each.wave for each in plan.placements}
    assert wave["default/nerthus-1"] < wave["default/freyja-1"]
