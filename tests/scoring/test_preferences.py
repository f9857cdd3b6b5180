"""What nodes lack of what pods prefer, in points: the plugin's weight for the worst, 0 for the best."""

import math

import numpy as np
import pytest

from scoring.preferences import missed, missed_weight
from tests.builders import NodeBuilder, PodBuilder, cluster_of, expression, node, pod

_ZONE = "zone"
_NODES = [node(f"{zone}{number}").label(_ZONE, zone) for zone in ("a", "b") for number in (1, 2)]


def prefers(weight: int, zone: str) -> dict[str, object]:
    return {"weight": weight, "preference": {"matchExpressions": [expression(_ZONE, "In", zone)]}}


def preferring(*terms: dict[str, object]) -> PodBuilder:
    path = ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    return pod("p").field(*path, value=list(terms))


def near(weight: int, *, kind: str = "podAffinity", key: str = _ZONE) -> PodBuilder:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    path = ("spec", "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution")
    return pod("p").field(*path, value=[{"weight": weight, "podAffinityTerm": term}])


def web(name: str, place: str) -> PodBuilder:
    return pod(name).label("app", "web").on(place)


def lacking(of: PodBuilder, nodes: list[NodeBuilder], *placed: PodBuilder) -> list[float] | None:
    found = missed(of.build(), cluster_of(nodes, placed).nodes)
    return None if found is None else np.round(found, 6).tolist()


@pytest.mark.parametrize(
    ("of", "placed", "expected"),
    [
        pytest.param(pod("p"), [], None, id="nothing preferred"),
        pytest.param(preferring(prefers(10, "c")), [], None, id="no node has it"),
        # weights do not matter where there is one term: all of it or nothing, 2 points
        pytest.param(preferring(prefers(1, "a")), [], [0, 0, 2, 2], id="one term"),
        # a has 80 of 80, b has 20 of 80: 2 x (1 - 0.25)
        pytest.param(preferring(prefers(80, "a"), prefers(20, "b")), [], [0, 0, 1.5, 1.5], id="by weight"),
        pytest.param(preferring({"weight": 5, "preference": {}}), [], None, id="an empty term"),
        # two pods in b, none in a
        pytest.param(near(10), [web("1", "b1"), web("2", "b2")], [2, 2, 0, 0], id="near others"),
        pytest.param(near(10, kind="podAntiAffinity"), [web("1", "b1")], [0, 0, 2, 2], id="far from others"),
        # 2 pods in a, 1 in b: b is the worst, whatever the numbers
        pytest.param(
            near(10), [web("1", "a1"), web("2", "a1"), web("3", "b1")], [0, 0, 2, 2], id="more of them"
        ),
        pytest.param(near(10), [], None, id="nobody to be near to"),
    ],
)
def test_affinity(of: PodBuilder, placed: list[PodBuilder], expected: list[float] | None) -> None:
    assert lacking(of, _NODES, *placed) == expected


def test_taints_that_are_better_avoided() -> None:
    soft = [node("free"), node("one").taint("x", "PreferNoSchedule")]
    both = node("two").taint("x", "PreferNoSchedule").taint("y", "PreferNoSchedule")
    # one of at most two: half of the 3 points
    assert lacking(pod("p"), [*soft, both]) == [0, 1.5, 3]
    tolerant = pod("p").toleration(key="x", operator="Exists")
    assert lacking(tolerant, [*soft, both]) == [0, 0, 3]
    assert lacking(pod("p"), [node("free"), node("hard").taint("x")]) is None


def test_spreading_that_may_fail() -> None:
    spreading = pod("p").label("app", "web").spread(_ZONE, {"app": "web"}, whenUnsatisfiable="ScheduleAnyway")
    placed = [web("1", "a1"), web("2", "a2"), web("3", "a2"), web("4", "b1")]
    # two domains weigh ln 4 each: 3 pods are round(4.16) = 4, one is round(1.39) = 1.
    # The scores are (4 + 1 - 4) / 4 and (4 + 1 - 1) / 4; 2 points for the difference.
    assert round(3 * math.log(4)) == 4
    assert lacking(spreading, _NODES, *placed) == [1.5, 1.5, 0, 0]
    assert lacking(spreading, _NODES) is None
    unlabelled = [*_NODES[:2], node("elsewhere")]
    # no pod anywhere: every node with the label is perfect, the other one is not
    assert lacking(spreading, unlabelled) == [0, 0, 2]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        pytest.param(pod("p"), [0, 0, 0, 150], id="a taint is one and a half preferences"),
        pytest.param(preferring(prefers(10, "a")), [0, 0, 10, 160], id="a small weight stays small"),
        pytest.param(preferring(prefers(80, "a"), prefers(20, "b")), [0, 0, 60, 210], id="by weight"),
        pytest.param(near(10), [0, 0, 0, 150], id="what is about pods is not in it"),
    ],
)
def test_weights_that_can_be_compared_across_pods(of: PodBuilder, expected: list[float]) -> None:
    nodes = [*_NODES[:3], _NODES[3].taint("x", "PreferNoSchedule")]
    found = missed_weight(of.build(), cluster_of(nodes, [web("1", "a1")]).nodes)
    assert found is not None
    assert found.tolist() == expected


def test_without_a_preference_there_is_no_weight() -> None:
    assert missed_weight(pod("p").build(), cluster_of(_NODES).nodes) is None
    assert missed_weight(preferring(prefers(5, "c")).build(), cluster_of(_NODES).nodes) is None
