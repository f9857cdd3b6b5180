from collections.abc import Sequence

import pytest

from scoring.filters.host_ports import HostPorts
from tests.builders import PodBuilder, node, pod
from tests.scoring.feasible import feasible

_ALL = "0.0.0.0"  # noqa: S104
_ON_80 = pod("p").on("a").host_port(80)
_INIT = {"name": "init", "image": "example", "ports": [{"containerPort": 80, "hostPort": 80}]}


@pytest.mark.parametrize(
    ("wanted", "placed", "passing"),
    [
        pytest.param(pod("w"), [_ON_80], "a b", id="a pod without ports"),
        pytest.param(pod("w").host_port(80), [_ON_80], "b", id="a port that is taken"),
        pytest.param(pod("w").host_port(81), [_ON_80], "a b", id="another port"),
        pytest.param(pod("w").host_port(80, "UDP"), [_ON_80], "a b", id="another protocol"),
        pytest.param(pod("w").host_port(81).host_port(80), [_ON_80], "b", id="one of two ports"),
        pytest.param(pod("w").host_port(80, address="10.0.0.1"), [_ON_80], "b", id="taken for all addresses"),
        pytest.param(
            pod("w").host_port(80),
            [pod("p").on("a").host_port(80, address="10.0.0.1")],
            "b",
            id="wanted for all addresses",
        ),
        pytest.param(pod("w").host_port(80, address=_ALL), [_ON_80], "b", id="no address is all addresses"),
        pytest.param(
            pod("w").host_port(80, address="10.0.0.2"),
            [pod("p").on("a").host_port(80, address="10.0.0.1")],
            "a b",
            id="two addresses",
        ),
        pytest.param(
            pod("w").host_port(80, address="10.0.0.1"),
            [pod("p").on("a").host_port(80, address="10.0.0.1")],
            "b",
            id="the same address",
        ),
        # Kubernetes knows all addresses by 0.0.0.0 alone.
        pytest.param(
            pod("w").host_port(80, address="::"),
            [pod("p").on("a").host_port(80, address="10.0.0.1")],
            "a b",
            id="all addresses of version 6 are an address like others",
        ),
        pytest.param(
            pod("w").host_port(80), [_ON_80.phase("Succeeded")], "a b", id="a finished pod gave it back"
        ),
        pytest.param(
            pod("w").host_port(80), [_ON_80.deleting()], "b", id="one that is being deleted did not"
        ),
        pytest.param(
            pod("w").host_port(80),
            [pod("p").on("a").field("spec", "initContainers", value=[_INIT])],
            "a b",
            id="an init container gave it back",
        ),
        pytest.param(
            pod("w").host_port(80),
            [pod("p").on("a").field("spec", "initContainers", value=[{**_INIT, "restartPolicy": "Always"}])],
            "b",
            id="a sidecar did not",
        ),
        pytest.param(
            pod("w").field("spec", "initContainers", value=[{**_INIT, "restartPolicy": "Always"}]),
            [_ON_80],
            "b",
            id="a sidecar that wants it",
        ),
        pytest.param(
            pod("w").field("spec", "containers", 0, "ports", value=[{"containerPort": 80}]),
            [_ON_80],
            "a b",
            id="a port of the container alone",
        ),
    ],
)
def test_host_ports(wanted: PodBuilder, placed: Sequence[PodBuilder], passing: str) -> None:
    assert feasible(HostPorts(), wanted, [node("a"), node("b")], placed) == passing
