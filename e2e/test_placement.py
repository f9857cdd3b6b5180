"""kube-scheduler places pods through Tradewind."""

from collections import Counter

import pytest

from e2e import objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler
from e2e.tradewind import Tradewind
from scoring.filters.resources import Resources


@pytest.mark.kind
def test_deployment_lands_on_the_cheapest_feasible_nodes(
    api: Api, scheduler_name: str, add_nodes: AddNodes, namespace: str
) -> None:
    add_nodes(
        objects.node("too-small", cpu="400m", price=0.01),
        objects.node("cheap", price=0.05),
        objects.node("fair", price=0.20),
        objects.node("dear", price=0.80),
    )
    api.create(objects.deployment("web", namespace, replicas=10, cpu="500m", scheduler=scheduler_name))
    nodes = outcomes.bound_nodes(api, namespace, 10, app="web")
    # 4 cores of "cheap" hold 8 pods; kube-scheduler alone would spread all 10 evenly.
    assert Counter(nodes.values()) == {"cheap": 8, "fair": 2}


def test_requests_come_through_the_extender_entry(
    api: Api, tradewind: Tradewind, scheduler_name: str, add_nodes: AddNodes, namespace: str
) -> None:
    add_nodes(objects.node("a"), objects.node("b"))
    api.create(objects.pod("web", namespace, scheduler=scheduler_name))
    outcomes.bound_node(api, namespace, "web")
    for verb in ("filter", "prioritize"):
        assert tradewind.metric("tradewind_requests_total", verb=verb, outcome="ok") == 1


def test_pod_that_fits_nowhere_waits_with_our_reason_until_a_node_comes(
    api: Api, tradewind: Tradewind, start_scheduler: StartScheduler, add_nodes: AddNodes, namespace: str
) -> None:
    """kube-scheduler asks an extender only about nodes that its own plugins left over: so its check of the
    resources is off here, and ours decides.
    """
    tradewind.configure({"recheck": True})
    tradewind.wait_metric("tradewind_config_reloads_total", 1, result="taken")
    ours = scheduler.profile(without={"filter": ["NodeResourcesFit"]})
    entry = scheduler.extender(tradewind.url, ignorable=True)
    start_scheduler(scheduler.configuration(profiles=[ours], extenders=[entry]))
    add_nodes(objects.node("small-1", cpu="2"), objects.node("small-2", cpu="2"))
    api.create(objects.pod("big", namespace, cpu="3"))

    said = f"0/2 nodes are available: 2 {Resources.reason}."
    assert said in outcomes.event(api, namespace, "big", "FailedScheduling")
    assert said in outcomes.unschedulable(api, namespace, "big")

    add_nodes(objects.node("large", cpu="4"))
    assert outcomes.bound_node(api, namespace, "big") == "large"


def test_scheduling_goes_on_without_tradewind_and_with_it_again(
    api: Api, tradewind: Tradewind, scheduler_name: str, add_nodes: AddNodes, namespace: str
) -> None:
    """kube-scheduler alone prefers the emptier node, so the node tells who decided."""
    add_nodes(objects.node("cheap-but-half-full", price=0.05), objects.node("dear-and-empty", price=0.80))
    api.create(objects.pod("resident", namespace, cpu="2", memory="8Gi", nodeName="cheap-but-half-full"))

    def place(name: str) -> str:
        api.create(objects.pod(name, namespace, scheduler=scheduler_name))
        return outcomes.bound_node(api, namespace, name)

    assert place("with") == "cheap-but-half-full"
    tradewind.kill()
    assert place("without") == "dear-and-empty"
    tradewind.start()
    assert place("with-again") == "cheap-but-half-full"
