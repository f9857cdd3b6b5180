"""Extended resources that kube-scheduler ignores: Tradewind must not reject every node for want of them."""

from pathlib import Path

import pytest

from e2e import objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind

_UNSEEN = "example.com/unseen"
_SCARCE = "example.com/scarce"


@pytest.mark.parametrize(
    ("resource", "rules"),
    [
        pytest.param(_UNSEEN, {}, id="that no node advertises"),
        pytest.param(_SCARCE, {"ignored_resources": [_SCARCE]}, id="by name"),
        pytest.param(_SCARCE, {"ignored_resource_groups": ["example.com"]}, id="by domain"),
    ],
)
def test_a_pod_is_bound_although_no_node_has_what_kube_scheduler_ignores(
    api: Api,
    plane: ControlPlane,
    role_kubeconfig: Path,
    start_scheduler: StartScheduler,
    *,
    add_nodes: AddNodes,
    namespace: str,
    resource: str,
    rules: dict[str, list[str]],
) -> None:
    add_nodes(objects.node("a", resources={_SCARCE: "1"}))
    settings = {"rules": {"resources": rules}}
    service = Tradewind(plane.workspace, role_kubeconfig, settings=settings, name=next_name("tradewind"))
    try:
        profile = scheduler.profile(
            arguments={"NodeResourcesFit": {"ignoredResources": [_UNSEEN, _SCARCE]}},
        )
        entry = scheduler.extender(service.url)
        start_scheduler(scheduler.configuration(profiles=[profile], extenders=[entry]))
        requests = {"cpu": "100m", resource: "2"}
        wanted = objects.container(requests=requests, limits={resource: "2"})
        api.create(objects.pod("wanted", namespace, containers=[wanted]))
        assert outcomes.bound_node(api, namespace, "wanted") == "a"
        assert service.metric("tradewind_requests_total", verb="filter", outcome="ok") >= 1
    finally:
        service.stop()
