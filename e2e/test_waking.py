"""A pod that a rule rejected is retried once the rule would accept a node, without any other change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind
from scoring.filters.limits import Limits

_LIMITED = {"rules": {"limits": {"overcommit": {"memory": 1}}}}
_OWN = "tradewind-own"


@pytest.fixture
def limiting(
    plane: ControlPlane, api: Api, role_kubeconfig: Path, add_nodes: AddNodes
) -> Iterator[Tradewind]:
    """Tradewind as in a pod of its namespace, which is on a node."""
    add_nodes(objects.node("home", cpu="1"))
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {**objects.container(requests={"cpu": "100m"}), "securityContext": restricted}
    own = api.create(objects.pod(_OWN, manifests.NAMESPACE, nodeName="home", containers=[container]))
    service = Tradewind(
        plane.workspace,
        role_kubeconfig,
        name=next_name("tradewind"),
        settings=_LIMITED,
        environment={
            "POD_NAME": _OWN,
            "POD_NAMESPACE": manifests.NAMESPACE,
            "POD_UID": own["metadata"]["uid"],
        },
    )
    yield service
    service.stop()
    api.delete(f"/api/v1/namespaces/{manifests.NAMESPACE}/pods/{_OWN}", gracePeriodSeconds="0")


def test_a_rejection_that_a_new_configuration_ends_wakes_the_pod(
    api: Api, limiting: Tradewind, start_scheduler: StartScheduler, add_nodes: AddNodes, namespace: str
) -> None:
    """kube-scheduler itself would retry only after five minutes: nothing changes in the cluster."""
    add_nodes(objects.node("n", memory="8Gi"))
    resident = objects.container(requests={"memory": "1Gi"}, limits={"memory": "6Gi"})
    api.create(objects.pod("resident", namespace, containers=[resident], nodeName="n"))
    start_scheduler(scheduler.configuration(extenders=[scheduler.extender(limiting.url, ignorable=True)]))
    greedy = objects.container(requests={"cpu": "2", "memory": "1Gi"}, limits={"memory": "4Gi"})
    api.create(objects.pod("greedy", namespace, containers=[greedy]))
    assert Limits.reason in outcomes.unschedulable(api, namespace, "greedy")
    limiting.configure({})
    assert outcomes.bound_node(api, namespace, "greedy") == "n"
