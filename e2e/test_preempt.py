"""kube-scheduler evicts where Tradewind finds the loss cheapest."""

from collections.abc import Iterator

import pytest

from e2e import fake, objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler
from e2e.objects import Object
from e2e.tradewind import Tradewind

_ROUNDS = 30


@pytest.fixture
def urgent(api: Api, namespace: str) -> Iterator[str]:
    del namespace  # pods go before their class
    with fake.existing(api, [objects.priority_class("urgent", 1_000_000)]):
        yield "urgent"


@pytest.fixture
def classes(api: Api, namespace: str) -> Iterator[None]:
    del namespace
    values = {"low": 1, "medium": 1_000, "high": 1_000_000}
    with fake.existing(api, [objects.priority_class(name, value) for name, value in values.items()]):
        yield


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


def test_a_pod_that_our_watch_has_not_brought_is_not_evicted_for_that(
    api: Api,
    tradewind: Tradewind,
    start_scheduler: StartScheduler,
    add_nodes: AddNodes,
    namespace: str,
    *,
    classes: None,
) -> None:
    """kube-scheduler knows each victim before it tries the pod; our watch may be milliseconds behind."""
    del classes
    entry = scheduler.extender(tradewind.url, preempt_verb="preempt", ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    add_nodes(*(objects.node(name) for name in ("cheap", "dear-0", "dear-1")))

    def occupant(priority: str, node: str, attempt: int) -> Object:
        name = f"on-{node}-{attempt}"
        return objects.pod(name, namespace, cpu="3", priorityClassName=priority, nodeName=node)

    nominated = []
    for attempt in range(_ROUNDS):
        api.create(occupant("low", "cheap", attempt))
        # Work for our watch, so that what comes last is new to us when kube-scheduler asks.
        small = [
            objects.pod(f"small-{attempt}-{i}", namespace, cpu="1m", nodeName="cheap") for i in range(50)
        ]
        api.create_all([*small, *(occupant("medium", f"dear-{i}", attempt) for i in range(2))])
        api.create(objects.pod(f"wanted-{attempt}", namespace, cpu="3", priorityClassName="high"))
        nominated.append(nominated_node(api, namespace, f"wanted-{attempt}"))
        fake.remove_pods(api, namespace)
    assert nominated == ["cheap"] * _ROUNDS
    assert tradewind.metric("tradewind_requests_total", verb="preempt", outcome="ok") >= _ROUNDS
