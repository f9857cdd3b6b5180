import pytest

from tests.builders import NodeBuilder, node
from tradewind.market.notices import Cause, Notice, leaves_by_choice, notice_of


def tainted(key: str) -> NodeBuilder:
    return node("n").field("spec", "taints", value=[{"key": key, "effect": "NoSchedule"}])


def condition(**fields: str) -> NodeBuilder:
    return node("n").field("status", "conditions", value=[fields])


@pytest.mark.parametrize(
    ("key", "cause"),
    [
        ("aws-node-termination-handler/spot-itn", Cause.INTERRUPTION),
        ("aws-node-termination-handler/rebalance-recommendation", Cause.CHOICE),
        ("aws-node-termination-handler/asg-lifecycle-termination", Cause.CHOICE),
        ("karpenter.sh/disrupted", Cause.KARPENTER),
        ("karpenter.sh/disruption", Cause.KARPENTER),
        ("cloud.google.com/impending-node-termination", Cause.INTERRUPTION),
        ("remediator.aks.microsoft.com/unschedulable", Cause.INTERRUPTION),
        ("remediator.kubernetes.azure.com/unschedulable", Cause.INTERRUPTION),
    ],
)
def test_taints_of_the_usual_handlers(key: str, cause: Cause) -> None:
    assert notice_of(tainted(key).build()) == Notice(key, cause)


@pytest.mark.parametrize(
    ("warned", "cause"),
    [
        pytest.param(
            condition(type="PreemptScheduled", status="True"), Cause.INTERRUPTION, id="AKS, by type"
        ),
        pytest.param(
            condition(type="VMEventScheduled", status="True", reason="PreemptScheduled"),
            Cause.INTERRUPTION,
            id="AKS, by reason",
        ),
        pytest.param(
            condition(
                type="Ready", status="False", reason="KubeletNotReady", message="node is shutting down"
            ),
            Cause.SHUTDOWN,
            id="a kubelet on its way out",
        ),
    ],
)
def test_conditions(warned: NodeBuilder, cause: Cause) -> None:
    notice = notice_of(warned.build())
    assert notice is not None
    assert notice.cause is cause


def test_the_sign_that_tells_most_counts() -> None:
    keys = ["node.cloudprovider.kubernetes.io/shutdown", "karpenter.sh/disrupted"]
    taints = [{"key": key, "effect": "NoSchedule"} for key in keys]
    assert notice_of(node("n").field("spec", "taints", value=taints).build()) == (keys[1], Cause.KARPENTER)
    taints.append({"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"})
    notice = notice_of(node("n").field("spec", "taints", value=taints).build())
    assert notice is not None
    assert notice.cause is Cause.INTERRUPTION


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
