"""kube-scheduler follows the plan that a pod carries, while it is fresh."""

import time

from e2e import objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes
from e2e.test_explain import explained
from e2e.tradewind import Tradewind
from tradewind.planner.boost import PlannedNodeOnly
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation


def planned(node: str, seconds: float, *, strict: bool = False) -> dict[str, str]:
    return {ANNOTATION: PlanAnnotation(node, time.time() + seconds, strict).text()}


def test_a_fresh_plan_outweighs_the_price_and_a_stale_one_does_not(
    api: Api, tradewind: Tradewind, scheduler_name: str, add_nodes: AddNodes, namespace: str
) -> None:
    add_nodes(objects.node("cheap", price=0.05), objects.node("dear", price=0.80))

    def place(name: str, annotations: dict[str, str]) -> str:
        api.create(objects.pod(name, namespace, annotations=annotations, scheduler=scheduler_name))
        return outcomes.bound_node(api, namespace, name)

    assert place("fresh", planned("dear", 60)) == "dear"
    assert place("stale", planned("dear", -1)) == "cheap"
    assert place("lost", planned("nowhere", 60)) == "cheap"
    assert tradewind.metric("tradewind_planned_answers_total", outcome="preferred") == 1
    assert tradewind.metric("tradewind_planned_answers_total", outcome="unavailable") == 1
    told = " ".join(explained(tradewind, f"{namespace}/fresh").split())
    assert "the planned node is preferred over the scores" in told


def test_a_strict_plan_holds_the_pod_until_it_expires(
    api: Api, tradewind: Tradewind, scheduler_name: str, add_nodes: AddNodes, namespace: str
) -> None:
    add_nodes(objects.node("one", price=0.05), objects.node("other", price=0.80))
    seconds = 8.0
    until = time.time() + seconds
    annotations = planned("not-yet-there", seconds, strict=True)
    api.create(objects.pod("member", namespace, annotations=annotations, scheduler=scheduler_name))

    said = f"0/2 nodes are available: 2 {PlannedNodeOnly.reason}."
    assert said in outcomes.unschedulable(api, namespace, "member")
    assert "no other node will do before then" in " ".join(
        explained(tradewind, f"{namespace}/member").split()
    )

    # By the API server's clock, which is known to two seconds.
    time.sleep(max(0.0, until + 2.0 - time.time()))
    # The end of a plan is no event in the cluster: the pod waits for one.
    api.patch("/api/v1/nodes/other", {"metadata": {"annotations": {"example.com/news": "any"}}})
    assert outcomes.bound_node(api, namespace, "member") == "one"
