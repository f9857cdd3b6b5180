"""An overlay in the cluster, and what kube-scheduler and the guide make of it."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from e2e import fake, objects, outcomes
from e2e.api import Api, ApiError, collection, path
from e2e.conftest import AddNodes
from e2e.objects import Object
from e2e.plane import ControlPlane

ROOT = Path(__file__).parents[2]
NAMESPACE = "tradewind-system"
OVERLAYS = sorted(path.parent.name for path in ROOT.glob("manifests/overlays/*/kustomization.yaml"))


class Shell:
    """Runs commands in a directory that looks like the top of the project, as the plane's admin."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self._directory = directory
        self._environment = os.environ | {
            "PATH": f"{plane.programs.kubectl.parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(plane.kubeconfig),
            "KUBECACHEDIR": str(plane.workspace.directory / "kubectl"),
        }
        if plane.beta_policies:
            _beta_manifests(directory / "manifests")
        else:
            (directory / "manifests").symlink_to(ROOT / "manifests")

    def run(self, command: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["/bin/sh", "-euc", command],
            cwd=self._directory,
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"{command}\ngave exit code {done.returncode}: {done.stderr}")
        return done.stdout


def _beta_manifests(target: Path) -> None:
    """With the component for older API servers in every overlay that holds pods, as the guide has it."""
    shutil.copytree(ROOT / "manifests", target)
    hold = "  - ../../components/hold\n"
    for file in target.glob("overlays/*/kustomization.yaml"):
        file.write_text(file.read_text().replace(hold, f"{hold}  - ../../components/hold-v1beta1\n"))


class Installation:
    """Is there from its creation until `remove`, which leaves nothing of it."""

    def __init__(self, shell: Shell, api: Api, overlay: str) -> None:
        self.overlay = overlay
        self._shell = shell
        self._api = api
        text = shell.run(f"kubectl kustomize manifests/overlays/{overlay}")
        self.objects: list[Object] = list(yaml.safe_load_all(text))
        # A warning says what the namespace's pod security standard, or a deprecation, has against an object.
        apply = "kubectl apply --server-side --warnings-as-errors --filename=-"
        self.applied = shell.run(apply, text).splitlines()

    @property
    def pods(self) -> dict[str, Object]:
        """A pod as each Deployment and CronJob makes them."""
        return {obj["metadata"]["name"]: _pod(obj) for obj in self.objects if obj["kind"] in _TEMPLATES}

    @property
    def pod(self) -> Object:
        """The one that answers kube-scheduler."""
        return self.pods["tradewind"]

    def remove(self) -> None:
        """No kubelet confirms the end of pods, so they go first; the guide's command waits for the rest."""
        for obj in self.objects:
            if obj["kind"] in _TEMPLATES:
                self._api.patch(path(obj), {"spec": _TEMPLATES[obj["kind"]].idle})
        jobs = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
        self._api.delete(jobs, propagationPolicy="Background")
        fake.remove_pods(self._api, NAMESPACE)
        self._shell.run(f"kubectl delete -k manifests/overlays/{self.overlay}")


class _Template(NamedTuple):
    """Where a workload has the template of its pods, and what makes it stop making more."""

    keys: tuple[str, ...]
    idle: Object


_TEMPLATES = {
    "Deployment": _Template(("spec", "template"), {"replicas": 0}),
    "CronJob": _Template(("spec", "jobTemplate", "spec", "template"), {"suspend": True}),
}


def _pod(workload: Object) -> Object:
    template = reduce(getitem, _TEMPLATES[workload["kind"]].keys, workload)
    name = workload["metadata"]["name"]
    metadata = {**template["metadata"], "generateName": f"{name}-", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def commands(heading: str, block: int = 0) -> str:
    """A block of commands under that heading of the install guide, by default the first."""
    guide = (ROOT / "docs" / "install.md").read_text()
    section = guide[guide.index(f"{heading}\n") :]
    return str(re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[block])


def scheduler_configuration(overlay: str, url: str = "") -> dict[str, Any]:
    """The shipped kube-scheduler configuration; with `url`, the extender is where the test has it."""
    file = ROOT / "manifests" / "overlays" / overlay / "kube-scheduler-config.yaml"
    configuration: dict[str, Any] = yaml.safe_load(file.read_text())
    if url:
        configuration["extenders"][0]["urlPrefix"] = url
    return configuration


def dry_run(api: Api, obj: Object) -> Object:
    """What admission makes of the object, or says against it."""
    return api.request("POST", collection(obj), obj, query={"dryRun": "All", "fieldValidation": "Strict"})


def place_pods(api: Api, namespace: str, add_nodes: AddNodes, scheduler: str) -> set[str]:
    """The nodes that pods get, of "dear" and "cheap", between which only Tradewind sees a difference."""
    add_nodes(objects.node("dear", price=2), objects.node("cheap", price=0.1))
    api.create_all(objects.pod(f"pod-{number}", namespace, scheduler=scheduler) for number in range(10))
    return set(outcomes.bound_nodes(api, namespace, count=10).values())


def vacate(api: Api, namespace: str, lease: str) -> None:
    """Ends the lease of a kube-scheduler that was killed, for which the next one would wait."""
    try:
        api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}")
    except ApiError as error:
        if error.status != 404:
            raise


def eventually(holds: Callable[[], bool], seconds: float = outcomes.SECONDS) -> None:
    """For what no watch can tell: another process's log, metrics or view of the roles."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise outcomes.NotSeenError(f"did not come true within {seconds:.0f} s")
        time.sleep(0.05)
