import pytest

from tests.builders import PodBuilder, cluster_of, node, pod
from tradewind.cluster.objects import DELETION_COST
from tradewind.config import document as config
from tradewind.controller.floor_guard import _wanting

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_NODES = [node("durable"), node("spot").label("karpenter.sh/capacity-type", "spot")]


def replica(number: int, place: str = "durable") -> PodBuilder:
    created = f"2026-01-0{number}T00:00:00Z"
    built = pod(f"web-{number}").owner("ReplicaSet", "web", "uid-web").on(place)
    return built.field("metadata", "creationTimestamp", value=created)


def wanting(floor: str, *pods: PodBuilder) -> list[str]:
    policies = config.parse(f"{_HEAD}rules: {{durable_floor: {{{floor}}}}}").policies()
    found = _wanting([each.build() for each in pods], cluster_of(_NODES, pods), policies.of)
    return [each.name for each in found]


@pytest.mark.parametrize(
    ("floor", "pods", "expected"),
    [
        pytest.param("min: 2", [replica(1), replica(2), replica(3)], ["web-1", "web-2"], id="the oldest"),
        pytest.param("min: 2", [replica(1, "spot"), replica(2)], ["web-2"], id="only those on durable nodes"),
        # half of 4 is 2
        pytest.param(
            "share: 0.5",
            [replica(1), replica(2), replica(3), replica(4, "spot")],
            ["web-1", "web-2"],
            id="share",
        ),
        pytest.param("min: 0", [replica(1)], [], id="no floor"),
        pytest.param(
            "min: 2",
            [replica(1), replica(2), replica(3).annotation(DELETION_COST, "1000")],
            ["web-1"],
            id="one has it",
        ),
        pytest.param(
            "min: 1",
            [replica(1).field("metadata", "deletionTimestamp", value="2026-02-01T00:00:00Z"), replica(2)],
            ["web-2"],
            id="one is leaving",
        ),
        pytest.param("min: 1", [pod("alone").on("durable")], [], id="a pod without a controller"),
    ],
)
def test_replicas_to_protect(floor: str, pods: list[PodBuilder], expected: list[str]) -> None:
    assert wanting(floor, *pods) == expected
