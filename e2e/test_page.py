"""`kubectl tradewind page`, through a real kubectl on a real control plane.

Its nodes have no kubelets, so a port of a pod cannot be forwarded: it ends there, with a clear word.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from e2e import objects
from e2e.api import Api
from e2e.conftest import AddNodes
from e2e.plane import ControlPlane

_LABELS = {"app.kubernetes.io/name": "tradewind", "app.kubernetes.io/component": "extender"}
_SECONDS = 120.0


@pytest.fixture
def environment(plane: ControlPlane) -> Mapping[str, str]:
    """Both kubectl and its plugin are on PATH."""
    path = os.pathsep.join([str(plane.programs.kubectl.parent), str(Path(sys.executable).parent)])
    return {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}


def _replica(api: Api, name: str, namespace: str, *, ready: bool) -> None:
    api.create(objects.pod(name, namespace, labels=_LABELS, nodeName="page-node"))
    condition = {"type": "Ready", "status": str(ready)}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    api.patch(f"/api/v1/namespaces/{namespace}/pods/{name}/status", status)


def test_the_plugin_finds_the_replicas_and_says_which_it_cannot_reach(
    api: Api, plane: ControlPlane, add_nodes: AddNodes, namespace: str, environment: Mapping[str, str]
) -> None:
    add_nodes(objects.node("page-node"))
    _replica(api, "tradewind-0", namespace, ready=True)
    _replica(api, "tradewind-1", namespace, ready=False)
    command = [str(plane.programs.kubectl), "tradewind", "page", "--kubeconfig", str(plane.kubeconfig)]
    done = subprocess.run(
        [*command, "--namespace", namespace],
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert "tradewind: forwarding a port of tradewind-0: error" in done.stderr
    assert "tradewind-1" not in done.stderr
    assert f"no replica of Tradewind in namespace {namespace} is ready and can be reached" in done.stderr
    assert "Traceback" not in done.stderr
