"""kube-scheduler evicts where Tradewind finds the loss cheapest."""

from collections.abc import Iterator

import pytest

from e2e import fake, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler
from e2e.tradewind import Tradewind

pytestmark = pytest.mark.local_only


@pytest.fixture
def urgent(api: Api, namespace: str) -> Iterator[str]:
    del namespace  # pods go before their class
    with fake.existing(api, [objects.priority_class("urgent", 1_000_000)]):
        yield "urgent"


def nominated_node(api: Api, namespace: str, pod: str) -> str:
    query = {"fieldSelector": f"metadata.name={pod}"}
    for change in api.changes(f"/api/v1/namespaces/{namespace}/pods", outcomes.SECONDS, **query):
        if change.object and (node := change.object["status"].get("nominatedNodeName")):
            return str(node)
    raise outcomes.NotSeenError(f"pod {namespace}/{pod} was not nominated")


def test_the_pod_that_would_vanish_anyway_is_evicted(
    api: Api,
    tradewind: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
    *,
    urgent: str,
) -> None:
    """All victims have the same priority: kube-scheduler alone would evict the youngest, on a stable node."""
    entry = scheduler.extender(tradewind.url, preempt_verb="preempt", ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    risky = {"tradewind.dev/interruption-rate": "0.6"}
    add_nodes(objects.node("risky", annotations=risky), *(objects.node(f"stable-{i}") for i in range(5)))
    for node in ("risky", *(f"stable-{i}" for i in range(5))):
        api.create(objects.pod(f"on-{node}", namespace, cpu="3", nodeName=node))
    api.create(objects.pod("wanted", namespace, cpu="2", priorityClassName=urgent))
    assert nominated_node(api, namespace, "wanted") == "risky"
    assert tradewind.metric("tradewind_requests_total", verb="preempt", outcome="ok") >= 1
