"""Why a pod is where it is, asked of a service that a real kube-scheduler has asked before."""

import subprocess
import sys

import urllib3

from e2e import objects, outcomes, scheduler
from e2e.api import Api
from e2e.conftest import AddNodes, StartScheduler
from e2e.tradewind import Tradewind
from scoring.filters.disk_type import DiskType


def explained(tradewind: Tradewind, pod: str) -> str:
    command = [sys.executable, "-m", "tradewind", "explain", "--server", tradewind.probes, pod]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_explain_says_where_a_pod_is_and_why(
    api: Api, tradewind: Tradewind, start_scheduler: StartScheduler, add_nodes: AddNodes, namespace: str
) -> None:
    entry = scheduler.extender(tradewind.url, weight=200, ignorable=True)
    start_scheduler(scheduler.configuration(extenders=[entry]))
    add_nodes(objects.node("cheap", price=0.1), objects.node("dear", price=0.4))
    api.create(objects.pod("web", namespace, cpu="1", memory="1Gi"))
    api.create(objects.pod("odd", namespace, annotations={"tradewind.dev/disk-type": "tape"}))
    assert outcomes.bound_node(api, namespace, "web") == "cheap"
    outcomes.unschedulable(api, namespace, "odd")

    # A quarter of a node of 4 cores: 0.025 and 0.1 dollars an hour.
    told = " ".join(explained(tradewind, f"{namespace}/web").split())
    assert f"{namespace}/web is placed on cheap ($0.0250/h) because it offers a lower price" in told
    assert "$0.0250/h instead of $0.100/h" in told

    told = " ".join(explained(tradewind, f"{namespace}/odd").split())
    assert DiskType.reason in told
    answer = urllib3.request("GET", f"{tradewind.probes}/explain/{namespace}/odd").json()
    assert answer["candidates"]["passed"] == 0


def test_a_pod_that_was_never_seen_is_said_to_be_so(tradewind: Tradewind) -> None:
    answer = urllib3.request("GET", f"{tradewind.probes}/explain/nowhere/nothing")
    assert answer.status == 404
    assert "nowhere/nothing" in answer.json()["detail"]
