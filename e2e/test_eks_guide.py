"""Parts 2 to 5 of the EKS guide as they stand, with real kubectl and helm on a control plane of EKS shape.

There is no kubelet: the test makes pods run, runs the refreshing Job's command itself, and serves what pods
would. What needs Docker or a port that is forwarded is answered by stand-ins.
"""

import contextlib
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import fake, objects, scheduler, tools
from e2e.api import MERGE_PATCH, Api
from e2e.plane import ControlPlane
from e2e.tradewind import Tradewind

_ROOT = Path(__file__).parents[1]
_GUIDE = (_ROOT / "docs" / "eks.md").read_text()
_LIST = _ROOT / "tests" / "market" / "lists" / "karpenter.prom"
_NAMESPACE = "tradewind-system"
_KARPENTER = "http://karpenter.kube-system.svc:8080/metrics"


def blocks(heading: str) -> list[str]:
    section = _GUIDE[_GUIDE.index(f"## {heading}") :].split("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Not the session's: the chart brings namespace and roles of its own."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture(scope="module")
def api(plane: ControlPlane) -> Iterator[Api]:
    with contextlib.closing(Api(plane.kubeconfig)) as api:
        yield api


class Karpenter(http.server.BaseHTTPRequestHandler):
    """An hour later: one spot price is lower."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(_LIST.read_bytes().replace(b"0.0346", b"0.0299"))

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def karpenter() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Karpenter) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
        server.shutdown()
        thread.join()


class Kubelet:
    """Makes bound pods run; a Job's pod has run when its command has."""

    def __init__(self, plane: ControlPlane, api: Api) -> None:
        self._plane, self._api = plane, api
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop)
        self._thread.start()

    def _loop(self) -> None:
        own = Api(self._plane.kubeconfig)
        with contextlib.closing(own):
            while not self._end.wait(0.2):
                for pod in own.read("/api/v1/pods")["items"]:
                    if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending":
                        self._run(own, pod)

    def _run(self, api: Api, pod: objects.Object) -> None:
        owners = {owner["kind"] for owner in pod["metadata"].get("ownerReferences", ())}
        phase = self._job(pod) if "Job" in owners else "Running"
        ready = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        where = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        api.concurrently("PATCH", [(where, {"status": {"phase": phase, "conditions": ready}})], MERGE_PATCH)

    def _job(self, pod: objects.Object) -> str:
        (container,) = pod["spec"]["containers"]
        values = {entry["name"]: entry.get("value", _NAMESPACE) for entry in container["env"]}
        words = [re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], word) for word in container["args"]]
        token = fake.service_account_token(self._api, _NAMESPACE, pod["spec"]["serviceAccountName"])
        account = self._plane.token_kubeconfig("job", token)
        command = [sys.executable, "-m", "tradewind", *words]
        environment = os.environ | values | {"KUBECONFIG": str(account)}
        done = subprocess.run(command, env=environment, cwd=_ROOT, check=False)
        return "Failed" if done.returncode else "Succeeded"

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


@pytest.fixture
def cluster(plane: ControlPlane, api: Api) -> Iterator[None]:
    """Nodes as Karpenter makes them, the provider's kube-scheduler, and a workload."""
    plane.start_scheduler(scheduler.configuration())
    nodes = {
        "ip-10-0-1-1": ("a", "on-demand"),
        "ip-10-0-1-2": ("a", "spot"),
        "ip-10-0-1-3": ("a", "on-demand"),
    }
    fake.add_nodes(api, (_node(name, *terms) for name, terms in nodes.items()))
    fake.create_namespace(api, "shop")
    template = {"metadata": {"labels": {"app": "web"}}, "spec": objects.pod_spec(cpu="100m")}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    metadata = {"name": "web", "namespace": "shop"}
    api.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    kubelet = Kubelet(plane, api)
    yield
    kubelet.stop()


def _node(name: str, zone: str, terms: str) -> objects.Object:
    labels = {
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "m5.large",
        "topology.kubernetes.io/zone": f"us-east-1{zone}",
        "topology.kubernetes.io/region": "us-east-1",
        "karpenter.sh/capacity-type": terms,
    }
    return objects.node(name, cpu="1930m", memory="7Gi", labels=labels)


class Terminal:
    """Where the guide's reader types: the top of the project, with stand-ins before what is on PATH."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.directory, self._plane = directory, plane
        self._programs = directory / "bin"
        self._programs.mkdir()
        (directory / "chart").symlink_to(_ROOT / "chart")
        helm = tools.need("helm")
        real = f'exec {plane.programs.kubectl} "$@"'
        kubectl = f'case "$*" in *port-forward*) exec /bin/sleep 60 ;; *) {real} ;; esac'
        scripts = {"make": "true", "docker": "true", "kubectl": kubectl, "helm": f'exec {helm} "$@"'}
        for name, script in (scripts | {"sleep": "true"}).items():
            self.stand_in(name, script)

    def stand_in(self, name: str, script: str) -> None:
        (self._programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (self._programs / name).chmod(0o755)

    def type(self, commands: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-c", f"set -euo pipefail; set -m\n{commands}"],
            cwd=self.directory,
            env=os.environ
            | {
                "PATH": f"{self._programs}:{os.environ['PATH']}",
                "KUBECONFIG": str(self._plane.kubeconfig),
                "HOME": str(self.directory),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def served(plane: ControlPlane, api: Api, directory: Path) -> Tradewind:
    """What the pods of the chart serve, with their account and their configuration and prices as mounted."""
    config_maps = f"/api/v1/namespaces/{_NAMESPACE}/configmaps"
    document = yaml.safe_load(api.read(f"{config_maps}/tradewind")["data"]["tradewind.yaml"])
    mounted = directory / "mounted.csv"
    mounted.write_text(api.read(f"{config_maps}/tradewind-prices")["data"]["prices.csv"])
    assert document["market"]["table"] == "/etc/tradewind-prices/prices.csv"
    settings: dict[str, Any] = {"market": {"table": str(mounted)}}
    deployment = api.read(f"/apis/apps/v1/namespaces/{_NAMESPACE}/deployments/tradewind")
    name = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    account = plane.token_kubeconfig("chart", fake.service_account_token(api, _NAMESPACE, name))
    service = Tradewind(plane.workspace, account, settings=settings, name="tradewind-chart")
    config = yaml.safe_load(
        api.read(f"{config_maps}/{_scheduler_config(deployment)}")["data"]["kube-scheduler-config.yaml"]
    )
    config["extenders"][0]["urlPrefix"] = service.url
    plane.start_scheduler(config | {"leaderElection": {"leaderElect": False}}, "second-scheduler")
    return service


def _scheduler_config(deployment: objects.Object) -> str:
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    (name,) = {
        volume["configMap"]["name"]
        for volume in volumes
        if "scheduler" in volume.get("configMap", {}).get("name", "")
    }
    return str(name)


@pytest.mark.usefixtures("cluster")
def test_from_the_image_to_prices_that_stay_true(
    plane: ControlPlane, api: Api, tmp_path: Path, karpenter: str
) -> None:
    terminal = Terminal(plane, tmp_path)
    tradewind = f"PYTHONPATH={_ROOT} {sys.executable} -m tradewind"
    terminal.type(f"{tradewind} prices import {_LIST} --output prices.csv")

    images, install = blocks("2. In the cluster")
    assert "Server Version" in terminal.type(images)
    assert "successfully rolled out" in terminal.type(install.replace("REGISTRY", "registry.example"))

    service = served(plane, api, tmp_path)
    try:
        (figure,) = blocks("3. The figure")
        service.wait_metric("tradewind_market_coverage_ratio", 1, quantity="price", source="table")
        terminal.stand_in("curl", f'exec /usr/bin/curl -s "{service.probes}/metrics"')
        shown = terminal.type(figure)
        assert re.search(r'source="table"\} 1\.0$', shown, re.MULTILINE), shown
        assert re.search(r'source="unknown"\} 0\.0$', shown, re.MULTILINE), shown

        (workload,) = blocks("4. The first workload")
        typed, explain = workload.rsplit("kubectl tradewind", 1)
        assert "NAMESPACE/POD" in explain  # forwards a port to the pod
        terminal.type(typed.replace("NAMESPACE", "shop").replace("NAME", "web"))
        pods = [
            pod
            for pod in api.read("/api/v1/namespaces/shop/pods")["items"]
            if pod["spec"]["schedulerName"] == "tradewind" and "deletionTimestamp" not in pod["metadata"]
        ]
        assert {pod["spec"]["nodeName"] for pod in pods} == {"ip-10-0-1-2"}  # spot: $0.0346 instead of $0.096
    finally:
        service.stop()

    (refresh,) = blocks("5. Prices that stay true")
    assert _KARPENTER in refresh
    terminal.type(refresh.replace(_KARPENTER, karpenter))
    prices = api.read(f"/api/v1/namespaces/{_NAMESPACE}/configmaps/tradewind-prices")["data"]["prices.csv"]
    assert "0.0299" in prices
    assert "0.0346" not in prices
