"""What controllers still owe is in the standing plan: here a quota leaves pods of both kinds owed."""

import time

import pytest

from e2e import fake, objects, outcomes
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner
from e2e.objects import Object
from e2e.tradewind import Planner

# No pod is planned: all of them wait, and nobody schedules.
_SETTINGS = {"planner": {"schedulers": [], "standing": {"seconds": 1}}}
# The middle of a step of sizes, so that one pod counts as one.
_CONTAINER = objects.container(requests={"cpu": "968m"})


def limit_pods(api: Api, namespace: str, pods: int) -> None:
    """Once it is in force."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": namespace},
        "spec": {"hard": {"pods": str(pods)}},
    }
    api.create(quota)
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    for change in api.changes(path, outcomes.SECONDS):
        if change.object and change.object.get("status", {}).get("hard") == {"pods": str(pods)}:
            return
    raise outcomes.NotSeenError("the quota is not in force")


def job(name: str, namespace: str, **spec: int) -> Object:
    template = {"spec": {**objects.pod_spec(containers=[_CONTAINER]), "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "template": template},
    }


def wait_owed(planner: Planner, pods: int) -> None:
    deadline, owed = time.monotonic() + outcomes.SECONDS, -1.0
    while owed != pytest.approx(pods, abs=0.01):
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError(f"{owed} pods are owed, not {pods}")
        time.sleep(0.2)
        owed = planner.metric("tradewind_standing_expected_pods", why="owed")


def test_what_a_quota_keeps_back_is_owed(
    api: Api, add_nodes: AddNodes, namespace: str, start_planner: StartPlanner
) -> None:
    add_nodes(objects.node("host", price=1.0))
    limit_pods(api, namespace, 2)
    web = api.create(objects.deployment("web", namespace, replicas=5, containers=[_CONTAINER]))
    planner = start_planner(_SETTINGS)
    wait_owed(planner, 3)
    deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/{web['metadata']['name']}"
    api.patch(deployment, {"spec": {"replicas": 1}})
    wait_owed(planner, 0)
    # One has the place that is free; two more are wanted at the same time, of the four that are left.
    with fake.existing(api, [job("sums", namespace, parallelism=3, completions=5)]):
        wait_owed(planner, 2)
    assert planner.metric("tradewind_standing_failures_total") == 0
