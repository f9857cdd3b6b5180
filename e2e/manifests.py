"""The shipped manifests and the install guide, used as a user would: through kubectl, command by command."""

import os
import re
import subprocess
from pathlib import Path

import yaml

from e2e import fake, outcomes
from e2e.api import Api
from e2e.objects import Object
from e2e.plane import ControlPlane

ROOT = Path(__file__).parents[1]
NAMESPACE = "tradewind-system"
ACCOUNT = "tradewind"
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
        if not (directory / "manifests").exists():
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


class Installation:
    """An overlay in the cluster, from its creation until `remove`, which leaves nothing of it."""

    def __init__(self, shell: Shell, api: Api, overlay: str) -> None:
        self.overlay = overlay
        self._shell = shell
        self._api = api
        self._text = shell.run(f"kubectl kustomize manifests/overlays/{overlay}")
        self.objects: list[Object] = list(yaml.safe_load_all(self._text))
        # Warnings say what the pod security standard of the namespace, or a deprecation, has against an object.
        apply = "kubectl apply --server-side --warnings-as-errors --filename=-"
        self.applied = shell.run(apply, self._text).splitlines()

    def of_kind(self, kind: str) -> list[Object]:
        return [obj for obj in self.objects if obj["kind"] == kind]

    @property
    def pod(self) -> Object:
        """A pod as the Deployment makes them."""
        (deployment,) = self.of_kind("Deployment")
        template = deployment["spec"]["template"]
        metadata = {**template["metadata"], "generateName": "tradewind-", "namespace": NAMESPACE}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}

    def remove(self) -> None:
        """No kubelet confirms the end of pods, so they go before what the user's command deletes."""
        for owners in ("deployments", "replicasets"):
            self._api.delete(f"/apis/apps/v1/namespaces/{NAMESPACE}/{owners}", propagationPolicy="Background")
        fake.remove_pods(self._api, NAMESPACE)
        self._shell.run(f"kubectl delete --ignore-not-found -k manifests/overlays/{self.overlay}")
        outcomes.gone(self._api, "/api/v1/namespaces", fieldSelector=f"metadata.name={NAMESPACE}")


def account_kubeconfig(plane: ControlPlane, api: Api, namespace: str = NAMESPACE, name: str = ACCOUNT) -> Path:
    token = fake.service_account_token(api, namespace, name)
    return plane.token_kubeconfig(f"{namespace}-{name}", token)


def commands(heading: str) -> str:
    """The first block of commands under that heading of the install guide."""
    guide = (ROOT / "docs" / "install.md").read_text()
    section = guide[guide.index(f"{heading}\n") :]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[0]
