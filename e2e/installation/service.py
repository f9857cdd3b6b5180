"""Our processes under their accounts, and what becomes of one that may not list or watch."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import urllib3
import yaml

from e2e import tradewind
from e2e.conftest import next_name
from e2e.installation.installation import NAMESPACE, ROOT, eventually
from e2e.plane import ControlPlane

WATCHED = ["namespaces", "nodes", "pods"]

# Adds an object of a resource that they watch.
Add = Callable[[str], None]


class Service(tradewind.Service):
    """`tradewind serve` or `planner` as the base configures it; unlike elsewhere, it may never get ready."""

    _started = "/healthz"

    def __init__(self, plane: ControlPlane, command: str, **flags: Any) -> None:
        self.pod = next_name(command)
        self.url = f"http://127.0.0.1:{flags.get('port', 0)}"
        super().__init__(
            plane.workspace,
            command,
            self.pod,
            flags={f"--{flag.replace('_', '-')}": value for flag, value in flags.items()},
            settings=yaml.safe_load((ROOT / "manifests" / "base" / "tradewind.yaml").read_text()),
            environment={"POD_NAME": self.pod, "POD_NAMESPACE": NAMESPACE},
        )

    def ready(self) -> bool:
        return urllib3.request("GET", f"{self.probes}/readyz").status == 200

    def post(self, path: str, request: Mapping[str, Any]) -> Any:
        return urllib3.request("POST", f"{self.url}{path}", json=request).json()

    def known(self, resource: str) -> float:
        """How many objects of the resource are in the cluster state."""
        return self.metric("tradewind_cluster_objects", resource=resource)

    def knows_more_than(self, count: float, resource: str) -> bool:
        return self.known(resource) > count

    def refusals(self, verb: str, resource: str) -> int:
        """How often the API server has refused that, by the service's own log."""
        return len(re.findall(rf'cannot {verb} resource \\*"{resource}\\*"', self.log()))

    def log(self) -> str:
        return self.process.log.read_text()

    def break_configuration(self) -> None:
        self.configure({"weights": {"price": -1}})


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
