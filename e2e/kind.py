"""A kind cluster with Tradewind inside, wired into kube-scheduler as the manifests tell users to do it.

Needs docker, kind and kubectl, and is no part of CI: that the image, the manifests and the
watchdog come up is most of what is tried here. The tests are those marked `kind`.
"""

import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from e2e.api import Api

IMAGE = "tradewind:dev"
_ROOT = Path(__file__).parents[1]
_OVERLAY = _ROOT / "manifests" / "overlays" / "kind"
_IN_NAMESPACE = "--namespace=tradewind-system"
# Keeps the pods of tests off the nodes that could really run them.
_TAINT = "tradewind.dev/e2e=real:NoSchedule"
# The node lifecycle controller believes a node for 50 s; a kubelet renews its lease every 10 s.
_SECONDS_BETWEEN_HEARTBEATS = 10.0
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_APPLY = "application/apply-patch+yaml"


class KindCluster:
    """Runs from its creation until `stop`."""

    def __init__(self) -> None:
        missing = [program for program in ("docker", "kind", "kubectl") if shutil.which(program) is None]
        if missing:
            raise RuntimeError(f"the e2e tests on kind need {', '.join(missing)} on PATH")
        self._directory = Path(tempfile.mkdtemp(prefix="tradewind-kind-"))
        self._name = f"tradewind-{secrets.token_hex(3)}"
        self.kubeconfig = self._directory / "kubeconfig"
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        config = _OVERLAY / "kind-cluster.yaml"
        self._kind("create", "cluster", "--config", str(config), "--wait", "180s")
        _run(["docker", "build", "--tag", IMAGE, "."])
        _run(["kind", "load", "docker-image", IMAGE, "--name", self._name])
        self._kubectl("apply", "--kustomize", str(_OVERLAY))
        for deployment in ("tradewind", "tradewind-planner"):
            self._kubectl("rollout", "status", f"deployment/{deployment}", _IN_NAMESPACE, "--timeout=300s")
        self._try_watchdog()
        self._kubectl("taint", "nodes", "--all", _TAINT)

    def _try_watchdog(self) -> None:
        """Once, on a real node: later its pods could only go to fake nodes, where nothing ever runs."""
        suspend = '{"spec": {"suspend": true}}'
        self._kubectl("patch", "cronjob/tradewind-watchdog", f"--patch={suspend}", _IN_NAMESPACE)
        self._kubectl("create", "job", "watchdog-once", "--from=cronjob/tradewind-watchdog", _IN_NAMESPACE)
        complete = "--for=condition=Complete"
        self._kubectl("wait", "job/watchdog-once", complete, _IN_NAMESPACE, "--timeout=120s")

    def stop(self) -> None:
        self._kind("delete", "cluster")
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _kind(self, verb: str, *arguments: str) -> None:
        _run(["kind", verb, *arguments, "--name", self._name, "--kubeconfig", str(self.kubeconfig)])

    def _kubectl(self, *arguments: str) -> None:
        _run(["kubectl", f"--kubeconfig={self.kubeconfig}", *arguments])


def _run(command: Sequence[str]) -> None:
    """From the top of the project, because kind takes the mounts of its configuration from there."""
    done = subprocess.run(
        command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} gave exit code {done.returncode}:\n{done.stdout[-4000:]}")


class Heartbeat:
    """Renews the leases of fake nodes: without, the node lifecycle controller would find them dead."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._names: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_ended, daemon=True)
        self._thread.start()

    def add(self, names: Sequence[str]) -> None:
        self._renew(names)
        self._names |= set(names)

    def remove(self, names: Sequence[str]) -> None:
        self._names -= set(names)
        self._api.concurrently("DELETE", [(f"{_LEASES}/{name}", None) for name in names])

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _renew_until_ended(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_HEARTBEATS):
            self._renew(tuple(self._names))

    def _renew(self, names: Sequence[str]) -> None:
        for name in names:
            self._api.request(
                "PATCH",
                f"{_LEASES}/{name}",
                _lease(name),
                content_type=_APPLY,
                query={"fieldManager": "tradewind-e2e", "force": "true"},
            )


def _lease(name: str) -> dict[str, object]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
    }
