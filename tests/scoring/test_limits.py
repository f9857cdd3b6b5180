import pytest

from scoring.filters.limits import Factor, Limits
from tests.builders import PodBuilder, cluster_of, node, pod

# 4 cores and 16Gi, of which 3 cores and 10Gi are left.
_NODES = cluster_of([node("n")], [pod("a").requests(cpu="1", memory="6Gi").on("n")]).nodes


@pytest.mark.parametrize(
    ("wanted", "overcommit", "fits"),
    [
        pytest.param(
            pod("w").limits(memory="10Gi"), {"memory": 1}, True, id="a limit of exactly what is free"
        ),
        pytest.param(pod("w").limits(memory="10241Mi"), {"memory": 1}, False, id="a mebibyte more"),
        pytest.param(pod("w").limits(memory="15Gi"), {"memory": 1.5}, True, id="10Gi x 1.5"),
        pytest.param(pod("w").limits(memory="16Gi"), {"memory": 1.5}, False, id="more than 10Gi x 1.5"),
        pytest.param(pod("w").limits(memory="99Gi"), {"memory": "off"}, True, id="off"),
        pytest.param(pod("w").limits(memory="99Gi"), {"memory": False}, True, id="off as YAML reads it"),
        pytest.param(pod("w").limits(cpu="64"), {"memory": 1}, True, id="a resource without a factor"),
        pytest.param(pod("w").limits(cpu="4"), {"cpu": 1}, False, id="cpu where asked for"),
        pytest.param(pod("w").requests(memory="9Gi"), {"memory": 0.1}, True, id="a pod without limits"),
        pytest.param(
            pod("w").limits({"example.com/gpu": "1"}), {"example.com/gpu": 1}, False, id="what no node has"
        ),
        pytest.param(
            pod("w")
            .limits(memory="6Gi")
            .sidecar()
            .field("spec", "initContainers", 0, "resources", "limits", value={"memory": "5Gi"}),
            {"memory": 1},
            False,
            id="sidecars count: 6Gi + 5Gi",
        ),
        pytest.param(
            pod("w").limits(memory="9Gi").overhead(memory="2Gi"), {"memory": 1}, False, id="overhead counts"
        ),
    ],
)
def test_limits(wanted: PodBuilder, overcommit: dict[str, Factor], fits: bool) -> None:
    assert Limits(overcommit=overcommit).feasible(wanted.build(), _NODES).tolist() == [fits]


def test_by_default_memory_counts_and_cpu_does_not() -> None:
    assert Limits().feasible(pod("w").limits(cpu="64").build(), _NODES).all()
    assert not Limits().feasible(pod("w").limits(memory="11Gi").build(), _NODES).any()


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), True])
def test_a_senseless_factor_is_refused(factor: Factor) -> None:
    with pytest.raises(ValueError, match=r"overcommit\.cpu"):
        Limits(overcommit={"cpu": factor})
