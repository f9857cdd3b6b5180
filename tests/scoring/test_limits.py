import pytest

from scoring.filters.limits import Factor, Limits
from tests.builders import PodBuilder, cluster_of, node, pod

# 4 cores and 16Gi. Limits of 6Gi are there; requests of 12Gi do not matter, nor does a pod that has finished.
_PLACED = [
    pod("a").requests(cpu="1", memory="6Gi").limits(memory="6Gi").on("n"),
    pod("b").requests(memory="6Gi").on("n"),
    pod("c").limits(memory="16Gi").on("n").phase("Succeeded"),
]
_NODES = cluster_of([node("n")], _PLACED).nodes


@pytest.mark.parametrize(
    ("wanted", "overcommit", "fits"),
    [
        pytest.param(pod("w").limits(memory="10Gi"), {"memory": 1}, True, id="6Gi + 10Gi = 16Gi"),
        pytest.param(pod("w").limits(memory="10241Mi"), {"memory": 1}, False, id="a mebibyte more"),
        pytest.param(pod("w").limits(memory="18Gi"), {"memory": 1.5}, True, id="6Gi + 18Gi = 16Gi x 1.5"),
        pytest.param(pod("w").limits(memory="19Gi"), {"memory": 1.5}, False, id="more than 16Gi x 1.5"),
        pytest.param(pod("w").limits(memory="99Gi"), {"memory": "off"}, True, id="off"),
        pytest.param(pod("w").limits(memory="99Gi"), {"memory": False}, True, id="off as YAML reads it"),
        pytest.param(pod("w").limits(cpu="64"), {"memory": 1}, True, id="a resource without a factor"),
        pytest.param(pod("w").limits(cpu="4"), {"cpu": 1}, True, id="nothing else limits cpu"),
        pytest.param(pod("w").limits(cpu="5"), {"cpu": 1}, True, id="more than any node has"),
        pytest.param(pod("w").requests(memory="4Gi"), {"memory": 0.1}, True, id="a pod without limits"),
        pytest.param(
            pod("w").limits({"example.com/gpu": "1"}), {"example.com/gpu": 1}, True, id="what no node has"
        ),
        pytest.param(
            pod("w")
            .limits(memory="6Gi")
            .sidecar()
            .field("spec", "initContainers", 0, "resources", "limits", value={"memory": "5Gi"}),
            {"memory": 1},
            False,
            id="sidecars count: 6Gi + 6Gi + 5Gi",
        ),
        pytest.param(
            pod("w").limits(memory="9Gi").overhead(memory="2Gi"), {"memory": 1}, False, id="overhead counts"
        ),
    ],
)
def test_limits(wanted: PodBuilder, overcommit: dict[str, Factor], fits: bool) -> None:
    assert Limits(overcommit=overcommit).feasible(wanted.build(), _NODES).tolist() == [fits]


def test_a_limit_above_every_eligible_node_is_not_checked() -> None:
    """20Gi fit on the large node only, which the pod may use or not."""
    nodes = cluster_of([node("small"), node("large").memory("32Gi").taint("team")]).nodes
    rule = Limits(overcommit={"memory": 1})
    wanted = pod("w").limits(memory="20Gi")
    assert rule.feasible(wanted.build(), nodes).tolist() == [True, True]
    tolerating = wanted.toleration(key="team", operator="Exists")
    assert rule.feasible(tolerating.build(), nodes).tolist() == [False, True]
    too_small_otherwise = wanted.requests(cpu="3").toleration(key="team", operator="Exists")
    tiny = cluster_of([node("small"), node("large").cpu("2").memory("32Gi").taint("team")]).nodes
    assert rule.feasible(too_small_otherwise.build(), tiny).tolist() == [True, True]


def test_nothing_is_checked_by_default() -> None:
    wanted = pod("w").limits(cpu="64", memory="99Gi").build()
    assert Limits().feasible(wanted, _NODES).all()


def test_pods_that_come_and_go_change_the_sum() -> None:
    """6Gi are there, and with 8Gi more 2Gi are left."""
    rule = Limits(overcommit={"memory": 1})
    snapshot = cluster_of([node("n")], _PLACED)
    wanted = pod("w").limits(memory="3Gi").build()
    more = snapshot.with_pods([pod("more").limits(memory="8Gi").on("n").build()])
    assert rule.feasible(wanted, snapshot.nodes).tolist() == [True]
    assert rule.feasible(wanted, more.nodes).tolist() == [False]
    assert rule.feasible(wanted, more.without([_PLACED[0].build()]).nodes).tolist() == [True]


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), True])
def test_a_senseless_factor_is_refused(factor: Factor) -> None:
    with pytest.raises(ValueError, match=r"overcommit\.cpu"):
        Limits(overcommit={"cpu": factor})
