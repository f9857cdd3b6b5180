import pytest

from tests.builders import NodeBuilder, node
from tradewind.market.notices import Notice, leaves_by_choice, notice_of


def tainted(key: str) -> NodeBuilder:
    return node("n").field("spec", "taints", value=[{"key": key, "effect": "NoSchedule"}])


def condition(**fields: str) -> NodeBuilder:
    return node("n").field("status", "conditions", value=[fields])


@pytest.mark.parametrize(
    ("key", "interruption"),
    [
        ("aws-node-termination-handler/spot-itn", True),
        ("aws-node-termination-handler/rebalance-recommendation", False),
        ("aws-node-termination-handler/asg-lifecycle-termination", False),
        ("karpenter.sh/disrupted", True),
        ("karpenter.sh/disruption", True),
        ("cloud.google.com/impending-node-termination", True),
        ("remediator.aks.microsoft.com/unschedulable", True),
        ("remediator.kubernetes.azure.com/unschedulable", True),
    ],
)
def test_taints_of_the_usual_handlers(key: str, interruption: bool) -> None:
    assert notice_of(tainted(key).build()) == Notice(key, interruption)


@pytest.mark.parametrize(
    "warned",
    [
        pytest.param(condition(type="PreemptScheduled", status="True"), id="AKS, by type"),
        pytest.param(
            condition(type="VMEventScheduled", status="True", reason="PreemptScheduled"), id="AKS, by reason"
        ),
        pytest.param(
            condition(
                type="Ready", status="False", reason="KubeletNotReady", message="node is shutting down"
            ),
            id="a kubelet on its way out",
        ),
    ],
)
def test_conditions(warned: NodeBuilder) -> None:
    notice = notice_of(warned.build())
    assert notice is not None
    assert notice.interruption


@pytest.mark.parametrize(
    "calm",
    [
        pytest.param(node("n"), id="nothing at all"),
        pytest.param(tainted("ToBeDeletedByClusterAutoscaler"), id="scaled down"),
        pytest.param(tainted("dedicated"), id="a taint of somebody else"),
        pytest.param(condition(type="PreemptScheduled", status="False"), id="a condition that does not hold"),
        pytest.param(condition(type="Ready", status="True", message="kubelet is ready"), id="ready"),
        pytest.param(
            condition(type="VMEventScheduled", status="True", reason="FreezeScheduled"), id="a pause"
        ),
    ],
)
def test_no_notice(calm: NodeBuilder) -> None:
    assert notice_of(calm.build()) is None


def test_who_leaves_by_choice() -> None:
    assert leaves_by_choice(tainted("ToBeDeletedByClusterAutoscaler").build())
    assert leaves_by_choice(node("n").field("spec", "unschedulable", value=True).build())
    assert not leaves_by_choice(node("n").build())


def test_a_heartbeat_does_not_make_another_node() -> None:
    def beating(at: str) -> NodeBuilder:
        return condition(type="MemoryPressure", status="False", lastHeartbeatTime=at)

    assert beating("2026-01-01T00:00:00Z").build() == beating("2026-01-01T00:00:10Z").build()
