"""A planner whose namespace does not exist says so, is not ready, and leads as soon as it exists."""

import secrets
import time
from collections.abc import Iterator

import pytest
import urllib3

from e2e import fake
from e2e.api import Api
from e2e.plane import ControlPlane
from e2e.tradewind import Planner

_SECONDS = 60.0


class Waiting(Planner):
    _started = "/healthz"

    def readiness(self) -> urllib3.BaseHTTPResponse:
        return urllib3.request("GET", f"{self.probes}/readyz", retries=False)


@pytest.fixture
def missing() -> str:
    return f"missing-{secrets.token_hex(3)}"


@pytest.fixture
def planner(plane: ControlPlane, missing: str) -> Iterator[Waiting]:
    # As an administrator: whoever lacks the right to do so is not told that the namespace does not exist.
    started = Waiting(plane.workspace, plane.kubeconfig, name=missing, switches=("--namespace", missing))
    yield started
    started.stop()


def test_a_missing_namespace_is_named_and_waited_for(api: Api, planner: Waiting, missing: str) -> None:
    deadline = time.monotonic() + _SECONDS
    advice = f"kubectl create namespace {missing}"
    while advice not in (answer := planner.readiness()).json()["reason"]:
        assert time.monotonic() < deadline, answer.data
        time.sleep(0.1)
    assert answer.status == 503
    assert "--namespace" in answer.json()["reason"]
    assert planner.process.tail().count("does not exist") == 1
    assert planner.metric("tradewind_planner_leading") == 0
    with fake.existing(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": missing}}]):
        planner.process.wait_healthy(f"{planner.probes}/readyz")
        planner.wait_leading()
        leases = api.read(f"/apis/coordination.k8s.io/v1/namespaces/{missing}/leases")["items"]
        assert [lease["metadata"]["name"] for lease in leases] == ["tradewind-planner"]
