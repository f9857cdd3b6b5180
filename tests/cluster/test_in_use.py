"""Which pods use a node, and which only occupy it."""

import pytest

from tests.builders import PodBuilder, pod
from tradewind.cluster.in_use import is_occupying, is_using, nodes_in_use


@pytest.mark.parametrize(
    ("each", "occupying", "using"),
    [
        pytest.param(pod("p").on("n"), True, True, id="on its node"),
        pytest.param(pod("p").on("n").owner("Job", "j", "j"), True, True, id="of a controller"),
        pytest.param(pod("p").on("n").deleting(), True, False, id="terminating"),
        pytest.param(pod("p"), False, False, id="waiting"),
        pytest.param(
            pod("p").on("n").field("status", "phase", value="Succeeded"), False, False, id="finished"
        ),
        pytest.param(pod("p").on("n").owner("DaemonSet", "d", "d"), False, False, id="of a DaemonSet"),
        pytest.param(pod("p").on("n").owner("Node", "n", "n"), False, False, id="static"),
        pytest.param(
            pod("p").on("n").annotation("kubernetes.io/config.mirror", "x"), False, False, id="a mirror"
        ),
    ],
)
def test_pods(each: PodBuilder, occupying: bool, using: bool) -> None:
    built = each.build()
    assert (is_occupying(built), is_using(built)) == (occupying, using)
    assert nodes_in_use([built]) == ({"n"} if using else set())
