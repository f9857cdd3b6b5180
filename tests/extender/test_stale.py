"""The service as a process, on an API server that falls silent after its lists."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import urllib3
import yaml

from e2e.tradewind import CONFIGURATION
from tests.builders import node, pod
from tests.cli.test_serve import serving
from tests.cluster.scripted import ScriptedApi, page

_DEADLINE_SECONDS = 60.0


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Any:
    api = ScriptedApi()  # what is not scripted is a watch that stays open and silent
    api.script("nodes", lists=[page(node("full").cpu("1"))])
    entries = {
        "clusters": [{"name": "x", "cluster": {"server": api.url}}],
        "users": [{"name": "x", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    file = tmp_path / "kubeconfig"
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    file.write_text(yaml.safe_dump(config | entries))
    yield file
    api.close()


def test_a_silent_api_server_makes_it_fail_open_and_not_ready(kubeconfig: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "tradewind.yaml"
    configuration.write_text(yaml.safe_dump({**CONFIGURATION, "staleSeconds": 10, "recheck": True}))
    wanted = pod("web").requests(cpu="2").document
    body = json.dumps({"Pod": wanted, "Nodes": None, "NodeNames": ["full", "new"]}).encode()
    with serving("--kubeconfig", str(kubeconfig), "--config", str(configuration)) as process:
        url = f"http://127.0.0.1:{process.port}"

        def kept() -> list[str]:
            names: list[str] = urllib3.request("POST", f"{url}/filter", body=body).json()["NodeNames"]
            return names

        _until(lambda: urllib3.request("GET", f"{url}/readyz").status == 200)
        assert kept() == []
        _until(lambda: "silent" in urllib3.request("GET", f"{url}/readyz").json()["reason"])
        assert kept() == ["full", "new"]
        metrics = urllib3.request("GET", f"{url}/metrics").data.decode()
        assert 'tradewind_requests_total{outcome="stale",verb="filter"} 1.0' in metrics
        assert process.stop()[2].count("the cluster state is stale, failing open") == 1


def _until(condition: Any) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)
