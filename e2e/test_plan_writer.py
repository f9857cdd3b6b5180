"""Plans written on pods of a real API server, and what kube-scheduler makes of them."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec
import pytest
from kubernetes.client import ApiClient

from e2e import objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler
from e2e.objects import Object
from e2e.plane import ControlPlane
from tradewind.cluster.objects import Pod, read_pod
from tradewind.controller.metrics import PlanMetrics
from tradewind.controller.orders import Order
from tradewind.controller.plan_events import PlanEvents
from tradewind.controller.plan_writer import PlanWriter, WriteOutcome
from tradewind.kube.access import connect
from tradewind.kube.writes import ApiWrites
from tradewind.planner.gate import GATE, OLD_GATE
from tradewind.planner.plan_annotation import ANNOTATION, PlanAnnotation

_UNTIL = float(round(time.time() + 3600))
_PODS = 200

Result = TypeVar("Result")


def run(plane: ControlPlane, work: Callable[[PlanWriter], Awaitable[Result]]) -> Result:
    async def go() -> Result:
        async with ApiWrites(access(plane)) as writes:
            return await work(PlanWriter(writes, PlanMetrics()))

    return asyncio.run(go())


def access(plane: ControlPlane) -> ApiClient:
    connected = connect(plane.kubeconfig)
    assert connected
    return connected[1]


def create(api: Api, namespace: str, name: str, *gates: str) -> Pod:
    wanted = objects.pod(name, namespace, schedulingGates=[{"name": gate} for gate in gates])
    return read_pod(msgspec.json.encode(api.create(wanted)))


def stored(api: Api, pod: Pod) -> Object:
    return api.read(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}")


def gates(obj: Object) -> list[str]:
    return [gate["name"] for gate in obj["spec"].get("schedulingGates", ())]


def planned_on(node: str, *, nominated: bool = True) -> PlanAnnotation:
    return PlanAnnotation(node, _UNTIL, nominated=nominated)


@pytest.mark.parametrize(
    "held",
    [(GATE,), (OLD_GATE,), ()],
    ids=["behind our gate", "behind the gate of the version before", "that nobody holds"],
)
def test_a_plan_is_on_the_pod(plane: ControlPlane, api: Api, namespace: str, held: Sequence[str]) -> None:
    pod = create(api, namespace, "web", *held)
    assert run(plane, lambda writer: writer.write_plan(pod, planned_on("n1"))) is WriteOutcome.WRITTEN
    found = stored(api, pod)
    assert found["metadata"]["annotations"] == {ANNOTATION: planned_on("n1").text()}
    assert found["status"]["nominatedNodeName"] == "n1"
    assert gates(found) == []
    managers = [entry["manager"] for entry in found["metadata"]["managedFields"]]
    assert "tradewind" in managers


def test_a_pod_behind_another_gate_is_not_touched(plane: ControlPlane, api: Api, namespace: str) -> None:
    pod = create(api, namespace, "web", GATE, "example.com/quota")
    before = stored(api, pod)
    assert run(plane, lambda writer: writer.write_plan(pod, planned_on("n1"))) is WriteOutcome.LEFT
    assert stored(api, pod) == before


@pytest.mark.parametrize("nominate", [True, False])
def test_a_pod_in_flight_is_diverted_until_it_is_bound(
    plane: ControlPlane, api: Api, namespace: str, add_nodes: AddNodes, nominate: bool
) -> None:
    add_nodes(objects.node("n1"), objects.node("n2"))
    pod = create(api, namespace, "web", GATE)
    run(plane, lambda writer: writer.write_plan(pod, planned_on("n1", nominated=nominate)))
    path = f"/api/v1/namespaces/{namespace}/pods/web"

    def divert(flying: Object, node: str) -> WriteOutcome:
        orders = [Order(read_pod(msgspec.json.encode(flying)), planned_on(node, nominated=nominate))]
        return run(plane, lambda writer: writer.divert(orders))[pod.uid]

    first = stored(api, pod)
    assert divert(first, "n2") is WriteOutcome.WRITTEN
    second = stored(api, pod)
    assert second["metadata"]["annotations"] == {ANNOTATION: planned_on("n2", nominated=nominate).text()}
    assert second["status"].get("nominatedNodeName") == ("n2" if nominate else None)
    assert divert(first, "n1") is WriteOutcome.OUTDATED, "it was known by another plan"
    target = {"apiVersion": "v1", "kind": "Node", "name": "n2"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": target}
    api.request("POST", f"{path}/binding", binding)
    bound = stored(api, pod)
    assert divert(second, "n1") is WriteOutcome.OUTDATED
    assert stored(api, pod) == bound


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"uid": "00000000-0000-0000-0000-000000000000"}, id="another of the same name"),
        pytest.param({"name": "nowhere"}, id="gone"),
    ],
)
def test_a_pod_that_is_no_longer_there_is_no_failure(
    plane: ControlPlane, api: Api, namespace: str, change: dict[str, str]
) -> None:
    there = create(api, namespace, "web", GATE)
    gone = msgspec.structs.replace(there, **change)
    before = stored(api, there)
    assert run(plane, lambda writer: writer.write_plan(gone, planned_on("n1"))) is WriteOutcome.GONE
    assert (
        run(plane, lambda writer: writer.write_plan(gone, planned_on("n1", nominated=False)))
        is WriteOutcome.GONE
    )
    assert run(plane, lambda writer: writer.ungate([gone])) == {gone.uid: WriteOutcome.GONE}
    assert stored(api, there) == before


def test_a_node_that_cannot_be_nominated_does_not_stop_the_release(
    plane: ControlPlane, api: Api, namespace: str
) -> None:
    pod = create(api, namespace, "web", GATE)
    assert run(plane, lambda writer: writer.write_plan(pod, planned_on("No Name"))) is WriteOutcome.WRITTEN
    found = stored(api, pod)
    assert gates(found) == []
    assert "nominatedNodeName" not in found["status"]


def test_only_our_gate_is_removed(plane: ControlPlane, api: Api, namespace: str) -> None:
    pods = [
        create(api, namespace, "ours", GATE),
        create(api, namespace, "both", "example.com/a", GATE, "example.com/b"),
        create(api, namespace, "theirs", "example.com/a"),
        create(api, namespace, "nobodys"),
    ]
    assert set(run(plane, lambda writer: writer.ungate(pods)).values()) == {WriteOutcome.WRITTEN}
    assert [gates(stored(api, pod)) for pod in pods] == [
        [],
        ["example.com/a", "example.com/b"],
        ["example.com/a"],
        [],
    ]


def test_kube_scheduler_follows_wave_by_wave(
    plane: ControlPlane, api: Api, namespace: str, add_nodes: AddNodes, start_scheduler: StartScheduler
) -> None:
    nodes = add_nodes(*(objects.node(f"n{i}", cpu="64", memory="256Gi") for i in range(4)))
    start_scheduler(scheduler.configuration())
    pods = [create(api, namespace, f"p{number}", GATE) for number in range(_PODS)]
    half = _PODS // 2
    plan = [Order(pod, planned_on(nodes[number % 3])) for number, pod in enumerate(pods)]  # never the fourth
    seen: list[int] = []

    async def wait(uids: frozenset[str], seconds: float) -> None:
        del seconds
        await asyncio.to_thread(outcomes.bound_nodes, api, namespace, len(uids))
        seen.append(
            len(api.read(f"/api/v1/namespaces/{namespace}/pods", fieldSelector="spec.nodeName=")["items"])
        )

    began = time.perf_counter()
    written = run(
        plane,
        lambda writer: writer.write([plan[:half], plan[half:]], wait_bound=wait, wave_seconds=60.0),
    )
    took = time.perf_counter() - began
    bound = outcomes.bound_nodes(api, namespace, _PODS, seconds=90)
    print(f"\n{_PODS} pods written in two waves in {took:.1f} s, {_PODS / took:.0f} a second")
    assert set(written.values()) == {WriteOutcome.WRITTEN}
    assert seen == [half]  # the second wave was still held when the first was bound
    assert {name: bound[name] for name in bound} == {pod.name: planned.node for pod, planned in plan}
    assert Counter(bound.values())["n3"] == 0


def test_people_can_read_why(plane: ControlPlane, api: Api, namespace: str) -> None:
    pod = create(api, namespace, "web", GATE)

    async def work(events: PlanEvents) -> None:
        await events.unplaced([(pod, "no node has 64 cores")])
        await events.planned_on_pool([(pod, "large")])
        await events.ungated([pod], 30.0)

    async def go() -> None:
        async with ApiWrites(access(plane)) as writes:
            await work(PlanEvents(writes, PlanMetrics()))
            newer = PlanEvents(writes, PlanMetrics())  # another leader, which knows nothing of the first
            await newer.unplaced([(pod, "no node has 32 GPUs")])

    asyncio.run(go())
    assert outcomes.event(api, namespace, "web", "Unplaced") == "No place: no node has 32 GPUs"
    assert "large" in outcomes.event(api, namespace, "web", "PlannedOnPool")
    described = plane.kubectl("--namespace", namespace, "describe", "pod", "web")
    assert "Ungated without a plan: held for 30 s" in described
    assert len(api.read(f"/api/v1/namespaces/{namespace}/events")["items"]) == 3
