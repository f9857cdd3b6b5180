import pytest

from scoring.filters.resources import Resources
from tests.builders import PodBuilder, cluster_of, node, pod

_BUSY = [pod("a").requests(cpu="3", memory="8Gi").on("n")]


@pytest.mark.parametrize(
    ("wanted", "placed", "fits"),
    [
        pytest.param(pod("w").requests(cpu="1", memory="8Gi"), _BUSY, True, id="exactly what is left fits"),
        pytest.param(pod("w").requests(cpu="1001m"), _BUSY, False, id="a millicore too much does not"),
        pytest.param(pod("w").requests(memory="8193Mi"), _BUSY, False, id="a mebibyte too much does not"),
        pytest.param(pod("w"), _BUSY, True, id="a pod without requests fits"),
        pytest.param(pod("w").requests({"example.com/gpu": "1"}), [], False, id="a resource nobody has"),
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
