"""Our processes under their accounts, and what becomes of one that may not list or watch."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import urllib3

from e2e.installation.installation import NAMESPACE, ROOT, eventually
from e2e.plane import ControlPlane
from e2e.processes import free_port

WATCHED = ["namespaces", "nodes", "pods"]

# Adds an object of a resource that they watch.
Add = Callable[[str], None]


class Service:
    """`tradewind serve` or `planner`; unlike elsewhere, it may never get ready."""

    def __init__(
        self, plane: ControlPlane, kubeconfig: Path, command: str, flags: Sequence[str] = ()
    ) -> None:
        port = free_port()
        self.pod = f"{command}-{port}"
        self._probes = f"http://127.0.0.1:{port}"
        self._configuration = plane.workspace.directory / f"{self.pod}.yaml"
        self._configuration.write_text((ROOT / "manifests" / "base" / "tradewind.yaml").read_text())
        known = [f"--probe-port={port}", f"--kubeconfig={kubeconfig}", f"--config={self._configuration}"]
        line = [sys.executable, "-m", "extender", command, *known, *flags]
        environment = {"POD_NAME": self.pod, "POD_NAMESPACE": NAMESPACE}
        self.process = plane.workspace.start(self.pod, line, environment=environment)
        self.process.wait_healthy(f"{self._probes}/healthz")

    def ready(self) -> bool:
        return urllib3.request("GET", f"{self._probes}/readyz").status == 200

    def known(self, resource: str) -> float:
        """How many objects of the resource are in the cluster state."""
        text = urllib3.request("GET", f"{self._probes}/metrics").data.decode()
        sample = re.search(rf'^tradewind_cluster_objects{{resource="{resource}"}} (\S+)', text, re.MULTILINE)
        return float(sample[1]) if sample else 0

    def knows_more_than(self, count: float, resource: str) -> bool:
        return self.known(resource) > count

    def refusals(self, verb: str, resource: str) -> int:
        """How often the API server has refused that, by the service's own log."""
        return len(re.findall(rf'cannot {verb} resource \\*"{resource}\\*"', self.log()))

    def log(self) -> str:
        return self.process.log.read_text()

    def break_configuration(self) -> None:
        self._configuration.write_text("weights: {price: -1}")


def sees_everything(service: Service, add: Add) -> None:
    eventually(service.ready)
    for resource in WATCHED:
        before = service.known(resource)
        add(resource)
        eventually(partial(service.knows_more_than, before, resource))


def never_ready(service: Service, verb: str, resource: str, add: Add) -> None:
    others = [other for other in WATCHED if other != resource]
    for other in others:
        add(other)
    eventually(lambda: all(service.known(other) > 0 for other in others))
    eventually(lambda: service.refusals(verb, resource) > 1)
    assert not service.ready()


def blind_to_changes(service: Service, verb: str, resource: str, add: Add) -> None:
    eventually(service.ready)
    before = service.known(resource)
    add(resource)
    refused = service.refusals(verb, resource)
    eventually(lambda: service.refusals(verb, resource) > refused)
    assert service.known(resource) == before


BLINDNESS = {"list": never_ready, "watch": blind_to_changes}
