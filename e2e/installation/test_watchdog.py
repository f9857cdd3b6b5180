"""The watchdog as its CronJob runs it, and the guide's way to let all pods go: under their accounts."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from e2e import objects
from e2e.api import Api
from e2e.installation.conftest import KubeconfigOf, only
from e2e.installation.installation import (
    NAMESPACE,
    ROOT,
    Installation,
    Shell,
    commands,
    vacate,
)
from e2e.installation.permissions import Permission, granted, without
from tradewind.cluster.names import PLAN
from tradewind.planner.gate import GATE
from tradewind.planner.plan_annotation import PlanAnnotation

pytestmark = [only("kind"), pytest.mark.usefixtures("installed")]

ACCOUNT = "tradewind-watchdog"
LEASE = "tradewind-planner"
GRANTED = granted(ROOT / "manifests" / "components" / "hold" / "rbac.yaml")
FOREIGN = "example.com/quota"

Watch = Callable[[], subprocess.CompletedProcess[str]]


@pytest.fixture
def watch(installed: Installation, kubeconfig_of: KubeconfigOf) -> Watch:
    """Runs the watchdog's container once."""
    (container,) = installed.pods[ACCOUNT]["spec"]["containers"]
    command = [sys.executable, "-m", "tradewind", *container["args"]]
    environment = os.environ | {"KUBECONFIG": str(kubeconfig_of(ACCOUNT)), "POD_NAMESPACE": NAMESPACE}
    return lambda: subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def lease(api: Api) -> Iterator[Callable[[timedelta], None]]:
    """The planners' Lease, last renewed so long ago."""

    def renewed(ago: timedelta) -> None:
        vacate(api, NAMESPACE, LEASE)
        time = (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": "gone", "leaseDurationSeconds": 1, "renewTime": time}
        metadata = {"name": LEASE, "namespace": NAMESPACE}
        api.create(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        )

    yield renewed
    vacate(api, NAMESPACE, LEASE)


@pytest.fixture
def held(api: Api, namespace: str) -> str:
    """A namespace with one pod behind our gate, one behind another too, and one with an old nomination."""
    gates = [{"name": FOREIGN}, {"name": GATE}]
    api.create(objects.pod("ours", namespace, schedulingGates=gates[1:]))
    api.create(objects.pod("both", namespace, schedulingGates=gates))
    plan = {PLAN: PlanAnnotation("n", 0.0, nominated=True).text()}
    api.create(objects.pod("nominated", namespace, annotations=plan, scheduler="none"))
    api.patch(f"/api/v1/namespaces/{namespace}/pods/nominated/status", {"status": {"nominatedNodeName": "n"}})
    return namespace


def holds(api: Api, namespace: str) -> dict[str, list[str]]:
    """By pod, its gates and the node that it is nominated for."""
    return {
        pod["metadata"]["name"]: [
            *(gate["name"] for gate in pod["spec"].get("schedulingGates", ())),
            *filter(None, [pod["status"].get("nominatedNodeName")]),
        ]
        for pod in api.read(f"/api/v1/namespaces/{namespace}/pods")["items"]
    }


HELD = {"ours": [GATE], "both": [FOREIGN, GATE], "nominated": ["n"]}
LET_GO = {"ours": [], "both": [FOREIGN], "nominated": []}
LONG_AGO = timedelta(minutes=3)


def test_pods_of_a_planner_that_is_gone_are_let_go(
    watch: Watch, lease: Callable[[timedelta], None], api: Api, held: str
) -> None:
    lease(LONG_AGO)
    done = watch()
    assert (done.returncode, done.stderr) == (0, "")
    assert holds(api, held) == LET_GO


def test_pods_are_let_go_without_any_lease(watch: Watch, api: Api, held: str) -> None:
    vacate(api, NAMESPACE, LEASE)
    assert watch().returncode == 0
    assert holds(api, held) == LET_GO


def test_fresh_holds_of_a_planner_that_leads_are_left_alone(
    watch: Watch, lease: Callable[[timedelta], None], api: Api, held: str
) -> None:
    lease(timedelta())
    assert watch().returncode == 0
    assert holds(api, held) == {**HELD, "nominated": []}


@pytest.fixture(params=GRANTED, ids=str)
def lacking(request: pytest.FixtureRequest, api: Api) -> Iterator[Permission]:
    """The permission that the account does not have during the test."""
    with without(api, request.param, GRANTED):
        yield request.param


@pytest.mark.usefixtures("lacking")
def test_every_permission_is_needed(
    watch: Watch, lease: Callable[[timedelta], None], api: Api, held: str
) -> None:
    lease(LONG_AGO)
    done = watch()
    assert re.search("403|forbidden", done.stderr + done.stdout)
    assert done.returncode == 1
    assert holds(api, held) != LET_GO


def test_guide_lets_held_pods_go(shell: Shell, api: Api, held: str, installed: Installation) -> None:
    steps = commands("### 1. Held pods").replace(".venv/bin/tradewind", f"{sys.executable} -m tradewind")
    shell.run(f"export PYTHONPATH={ROOT}\n{steps}")
    try:
        assert holds(api, held) == LET_GO
    finally:
        for obj in installed.objects:
            if obj["kind"].startswith("MutatingAdmissionPolicy"):
                api.create(obj)
