"""In the shadow, pods are placed as if there were no Tradewind, which says what it would have done."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import fake, manifests, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.objects import Object
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind
from scoring.registry import SCORERS
from tradewind.cli.main import main
from tradewind.shadow.keeper import LEASE
from tradewind.shadow.memory import NAME

_DECIDING = 200
_PRICE_ALONE = {"weights": {entry.scorer.name: 0 for entry in SCORERS} | {"price": 1}}
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{manifests.NAMESPACE}/leases"
_CONFIG_MAPS = f"/api/v1/namespaces/{manifests.NAMESPACE}/configmaps"
# Two pods each: they go to `dear`, then to `fair`, then to `cheap`, for so they prefer it.
_NODES = {"dear": 1.0, "fair": 0.4, "cheap": 0.1}
_AS_PREFERRED = ["dear", "dear", "fair", "fair", "cheap"]
_BY_PRICE = ["cheap", "cheap", "fair", "fair", "dear"]


@pytest.fixture
def keeping(api: Api, role_kubeconfig: Path) -> Iterator[None]:
    """What the manifests add to the account so that it may keep what it records."""
    del role_kubeconfig  # the account comes first
    with fake.existing(api, manifests.component_roles("shadow")):
        yield
        api.delete(_CONFIG_MAPS, fieldSelector=f"metadata.name={NAME}")
        api.delete(_LEASES, fieldSelector=f"metadata.name={LEASE}")


@pytest.fixture
def service(plane: ControlPlane, role_kubeconfig: Path, keeping: None) -> Iterator[Tradewind]:
    del keeping
    settings = {**_PRICE_ALONE, "shadow": True}
    service = Tradewind(plane.workspace, role_kubeconfig, name=next_name("tradewind"), settings=settings)
    yield service
    service.stop()


def _pod(name: str, namespace: str) -> Object:
    """Prefers the nodes in an order that nothing else in kube-scheduler outweighs, and without a tie."""
    preferred = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
            },
        }
        for node, weight in zip(_NODES, (100, 60, 20), strict=True)
    ]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return objects.pod(name, namespace, cpu="10m", memory="16Mi", affinity=affinity)


def _place(api: Api, namespace: str, count: int = len(_AS_PREFERRED)) -> list[str]:
    """One after the other, so that each is seen by the time of the next."""
    nodes = []
    for number in range(count):
        api.create(_pod(f"pod-{number}", namespace))
        nodes.append(outcomes.bound_node(api, namespace, f"pod-{number}"))
    return nodes


def _configuration(service: Tradewind) -> dict[str, Any]:
    entry = scheduler.extender(service.url, weight=_DECIDING, preempt_verb="preempt")
    return scheduler.configuration(extenders=[entry])


def test_the_shadow_changes_no_placement_and_going_live_changes_one_key(
    api: Api,
    service: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
) -> None:
    add_nodes(*(objects.node(name, price=price, pods="2") for name, price in _NODES.items()))
    alone = start_scheduler(scheduler.configuration())
    assert _place(api, namespace) == _AS_PREFERRED
    alone.kill()
    fake.remove_pods(api, namespace)

    start_scheduler(_configuration(service))
    assert _place(api, namespace) == _AS_PREFERRED
    assert service.metric("tradewind_requests_total", verb="filter", outcome="shadow") >= len(_AS_PREFERRED)
    assert service.metric("tradewind_requests_total", verb="filter", outcome="ok") == 0

    fake.remove_pods(api, namespace)
    service.configure(_PRICE_ALONE)
    service.wait_metric("tradewind_config_reloads_total", 1, result="taken")
    assert _place(api, namespace) == _BY_PRICE


def test_what_would_have_been_is_kept_over_a_restart(
    api: Api,
    plane: ControlPlane,
    service: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    *,
    namespace: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    add_nodes(*(objects.node(name, price=price, pods="2") for name, price in _NODES.items()))
    service.wait_metric("tradewind_shadow_leader", 1)
    start_scheduler(_configuration(service))
    assert _place(api, namespace, 2) == ["dear", "dear"]
    service.wait_metric("tradewind_shadow_pods", 2, node="other")
    service.wait_metric("tradewind_shadow_cost_dollars", 1e-9, cluster="shadow")
    assert service.metric("tradewind_shadow_cost_dollars_per_hour", cluster="real") == 1.0
    assert service.metric("tradewind_shadow_cost_dollars_per_hour", cluster="shadow") == 0.1
    before = {
        cluster: service.metric("tradewind_shadow_cost_dollars", cluster=cluster)
        for cluster in ("real", "shadow")
    }
    assert before["shadow"] < before["real"]
    service.stop()
    service.start()
    service.wait_metric("tradewind_shadow_pods", 2, node="other")
    assert service.metric("tradewind_shadow_cost_dollars_per_hour", cluster="shadow") == 0.1
    for cluster, dollars in before.items():
        assert service.metric("tradewind_shadow_cost_dollars", cluster=cluster) >= dollars
    main(["savings", "--live", "--kubeconfig", str(plane.kubeconfig), "--namespace", manifests.NAMESPACE])
    said = capsys.readouterr().out
    assert "In the shadow since" in said
    assert "kube-scheduler bound 2 pods: 0 where Tradewind would have, 2 elsewhere." in said
    assert "3 of 3 nodes have a price" in said
