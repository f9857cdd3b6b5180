import pytest

from scoring.filters.resources import KubeResources, Resources
from tests.builders import PodBuilder, cluster_of, node, pod

_BUSY = [pod("a").requests(cpu="3", memory="8Gi").on("n")]
_CLASS = "deviceclass.resource.kubernetes.io/gpu"


@pytest.mark.parametrize(
    ("wanted", "placed", "fits"),
    [
        pytest.param(pod("w").requests(cpu="1", memory="8Gi"), _BUSY, True, id="exactly what is left fits"),
        pytest.param(pod("w").requests(cpu="1001m"), _BUSY, False, id="a millicore too much does not"),
        pytest.param(pod("w").requests(memory="8193Mi"), _BUSY, False, id="a mebibyte too much does not"),
        pytest.param(pod("w"), _BUSY, True, id="a pod without requests fits"),
        pytest.param(pod("w").requests({"hugepages-2Mi": "2Mi"}), [], False, id="a resource nobody has"),
        pytest.param(
            pod("w").requests({"example.com/gpu": "0"}), [], True, id="none of a resource nobody has"
        ),
        pytest.param(
            pod("w").requests(cpu="1").init(cpu="5"), [], False, id="an init container larger than the node"
        ),
        pytest.param(
            pod("w").requests(memory="1Gi"),
            [pod("a").requests(cpu="9").on("n")],
            True,
            id="overcommitted in what the pod does not ask for",
        ),
        pytest.param(pod("w"), [pod(f"p{i}").on("n") for i in range(110)], False, id="all pod places taken"),
        pytest.param(
            pod("w").requests(cpu="4"),
            [pod("a").requests(cpu="3").on("n").phase("Succeeded")],
            True,
            id="a finished pod holds nothing",
        ),
    ],
)
def test_resources(wanted: PodBuilder, placed: list[PodBuilder], fits: bool) -> None:
    nodes = cluster_of([node("n")], placed).nodes
    assert Resources().feasible(wanted.build(), nodes).tolist() == [fits]


@pytest.mark.parametrize(
    ("rule", "wanted", "fits"),
    [
        pytest.param(Resources(), {"example.com/fpga": 1}, [True, True], id="no node advertises it"),
        pytest.param(KubeResources(), {"example.com/fpga": 1}, [False, False], id="in a plan no node has it"),
        pytest.param(Resources(), {"example.com/gone": 1}, [True, True], id="advertised as none"),
        pytest.param(Resources(), {"example.com/gpu": 2}, [True, True], id="one node advertises it"),
        pytest.param(Resources(), {"example.com/gpu": 3}, [False, True], id="too much of it"),
        pytest.param(KubeResources(), {"example.com/gpu": 2}, [True, False], id="a plan uses that node"),
        pytest.param(Resources(), {_CLASS: 1}, [True, True], id="a device class"),
        pytest.param(KubeResources(), {_CLASS: 1}, [False, False], id="in a plan no node has a device class"),
        pytest.param(Resources(), {"hugepages-2Mi": 1}, [False, False], id="no device class has huge pages"),
        pytest.param(
            Resources(), {"kubernetes.io/x": 1}, [False, False], id="nor what is of Kubernetes' domain"
        ),
        pytest.param(
            Resources(ignored_resources=frozenset({"example.com/gpu"})),
            {"example.com/gpu": 3},
            [True, True],
            id="ignored",
        ),
        pytest.param(
            Resources(ignored_resource_groups=frozenset({"example.com"})),
            {"example.com/gpu": 3},
            [True, True],
            id="ignored by its domain",
        ),
        pytest.param(
            Resources(ignored_resource_groups=frozenset({"example"})),
            {"example.com/gpu": 3},
            [False, True],
            id="part of a domain is none",
        ),
        pytest.param(
            KubeResources(ignored_resources=frozenset({"cpu", "example.com/gpu"})),
            {"cpu": 5, "example.com/gpu": 3},
            [False, False],
            id="only extended resources are ignored",
        ),
    ],
)
def test_extended_resources_that_are_kube_schedulers_to_judge(
    rule: Resources, wanted: dict[str, int], fits: list[bool]
) -> None:
    """Of 4 cores each, and 2 gpus advertised by the first."""
    nodes = [node("a").resource("example.com/gpu", 2).resource("example.com/gone", 0), node("b")]
    placed = [pod("x").requests({"example.com/fpga": 1}).on("a")]
    built = pod("w").requests(wanted).build()
    assert rule.feasible(built, cluster_of(nodes, placed).nodes).tolist() == fits
