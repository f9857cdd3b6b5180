"""Planner and extender of two versions, as during an upgrade and a rollback; the old one is the real one."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import objects, outcomes, previous, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler, next_name
from e2e.plane import ControlPlane
from e2e.tradewind import Planner, Tradewind
from tradewind.planner.gate import GATE, OLD_GATE
from tradewind.planner.plan_annotation import ANNOTATION

OLD, NEW = "old", "new"

Start = Callable[..., Any]  # a version


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    return {OLD: previous.unpack(tmp_path_factory.mktemp("previous")), NEW: {}}


@pytest.fixture
def start_extender(
    plane: ControlPlane,
    role_kubeconfig: Path,
    environments: dict[str, dict[str, str]],
    start_scheduler: StartScheduler,
) -> Iterator[Start]:
    """Also the kube-scheduler that asks it."""
    started: list[Tradewind] = []

    def start(version: str) -> Tradewind:
        name = next_name(f"tradewind-{version}")
        service = Tradewind(
            plane.workspace,
            role_kubeconfig,
            name=name,
            environment=environments[version],
            explains=version == NEW,
        )
        started.append(service)
        entry = scheduler.extender(service.url, weight=10, ignorable=True)
        start_scheduler(scheduler.configuration(extenders=[entry]))
        return service

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def start_planner(
    plane: ControlPlane, planner_kubeconfig: Path, environments: dict[str, dict[str, str]]
) -> Iterator[Start]:
    started: list[Planner] = []

    def start(version: str, *, nominate: bool = True) -> Planner:
        planner = Planner(
            plane.workspace,
            planner_kubeconfig,
            settings={"planner": {"nominate": nominate}},
            name=next_name(f"planner-{version}"),
            environment=environments[version],
        )
        started.append(planner)
        return planner

    yield start
    for planner in started:
        planner.kill()


def held_pod(name: str, namespace: str, gate: str, cpu: str = "1") -> objects.Object:
    return objects.pod(name, namespace, cpu=cpu, schedulingGates=[{"name": gate}])


def gated(api: Api, namespace: str) -> list[str]:
    pods = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("schedulingGates"))


def plans(api: Api, namespace: str) -> dict[str, Any]:
    pods = api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {pod["metadata"]["name"]: json.loads(pod["metadata"]["annotations"][ANNOTATION]) for pod in pods}


def plan_together(api: Api, namespace: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Where pods are bound, and their plans: two of 3 cores and two of 1 fill two nodes of 4."""
    sizes = {"small-1": "1", "small-2": "1", "large-1": "3", "large-2": "3"}
    api.create_all(held_pod(name, namespace, OLD_GATE, cpu) for name, cpu in sizes.items())
    return outcomes.bound_nodes(api, namespace, len(sizes)), plans(api, namespace)


@pytest.fixture
def nodes(add_nodes: AddNodes) -> None:
    prices = {"a": 1.0, "b": 1.1, "c": 9.0}
    add_nodes(*(objects.node(name, cpu="4", price=price) for name, price in prices.items()))


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("planner", "extender"),
    [
        pytest.param(OLD, NEW, id="extenders upgraded first"),
        pytest.param(NEW, OLD, id="planners upgraded first"),
    ],
)
def test_pods_are_bound_where_they_are_planned_and_nominated(
    api: Api, namespace: str, start_planner: Start, start_extender: Start, *, planner: str, extender: str
) -> None:
    start_extender(extender)
    start_planner(planner).wait_leading()
    bound, written = plan_together(api, namespace)
    assert {name: plan["node"] for name, plan in written.items()} == bound
    assert set(bound.values()) == {"a", "b"}


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("planner", "extender", "followed"),
    [
        pytest.param(OLD, NEW, True, id="extenders upgraded first"),
        # The new annotation lacks the generation that the old extender asks for.
        pytest.param(NEW, OLD, False, id="planners upgraded first"),
    ],
)
def test_without_nominations_only_the_new_extender_follows_the_other_version(
    api: Api,
    namespace: str,
    start_planner: Start,
    start_extender: Start,
    *,
    planner: str,
    extender: str,
    followed: bool,
) -> None:
    service = start_extender(extender)
    start_planner(planner, nominate=False).wait_leading()
    _, written = plan_together(api, namespace)
    assert {"generation" in plan for plan in written.values()} == {planner == OLD}
    answered = service.metric("tradewind_planned_answers_total", outcome="preferred")
    assert (answered > 0) is followed


@pytest.fixture
def one_node(add_nodes: AddNodes) -> None:
    add_nodes(objects.node("node", cpu="4", price=1.0))


@pytest.mark.usefixtures("one_node")
@pytest.mark.parametrize("versions", [(OLD, NEW), (NEW, OLD)], ids=["upgrade", "rollback"])
def test_the_next_planner_takes_the_lease_and_the_pods_over(
    api: Api, namespace: str, start_planner: Start, start_extender: Start, versions: tuple[str, str]
) -> None:
    start_extender(NEW)
    first, second = (start_planner(version) for version in versions)
    first.wait_leading()
    assert second.metric("tradewind_planner_leading") == 0
    api.create(held_pod("before", namespace, OLD_GATE))
    outcomes.bound_nodes(api, namespace, 1)
    first.stop()
    api.create(held_pod("after", namespace, OLD_GATE))
    assert outcomes.bound_nodes(api, namespace, 2) == {"before": "node", "after": "node"}
    second.wait_leading()


@pytest.mark.usefixtures("one_node")
def test_an_old_planner_leaves_pods_behind_the_new_gate_to_the_new_one(
    api: Api, namespace: str, start_planner: Start, start_extender: Start
) -> None:
    start_extender(NEW)
    old = start_planner(OLD)
    old.wait_leading()
    api.create(held_pod("new-gate", namespace, GATE))
    api.create(held_pod("old-gate", namespace, OLD_GATE))
    outcomes.bound_nodes(api, namespace, 1)
    assert gated(api, namespace) == ["new-gate"]
    start_planner(NEW)
    old.stop()
    assert outcomes.bound_nodes(api, namespace, 2) == {"new-gate": "node", "old-gate": "node"}


@pytest.mark.usefixtures("one_node")
def test_before_a_rollback_the_new_release_lets_go_what_the_old_planner_would_not(
    api: Api, plane: ControlPlane, namespace: str, start_planner: Start, start_extender: Start
) -> None:
    start_extender(OLD)
    api.create_all(held_pod(f"pod-{gate[-4:]}", namespace, gate) for gate in (GATE, OLD_GATE))
    command = [sys.executable, "-m", "tradewind", "release", f"--kubeconfig={plane.kubeconfig}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    start_planner(OLD).wait_leading()
    api.create(held_pod("later", namespace, OLD_GATE))
    assert len(outcomes.bound_nodes(api, namespace, 3)) == 3
