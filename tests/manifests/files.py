"""The shipped manifests as they stand in the files; what kustomize makes of them is tested in e2e."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests"
BASE = MANIFESTS / "base"
OVERLAYS = MANIFESTS / "overlays"
HOLD = MANIFESTS / "components" / "hold"
SCHEDULER_CONFIGS = {path.parent.name: path for path in OVERLAYS.glob("*/kube-scheduler-config.yaml")}

Object = dict[str, Any]


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def read(path: Path) -> Any:
    (document,) = documents(path)
    return document


def templates() -> dict[str, Object]:
    """The pods of each Deployment and CronJob, by its name."""
    deployments = [read(BASE / "deployment.yaml"), read(BASE / "planner.yaml")]
    jobs = [read(HOLD / "watchdog.yaml"), read(MANIFESTS / "components" / "price-refresh" / "prices.yaml")]
    found = {obj["metadata"]["name"]: obj["spec"]["template"] for obj in deployments}
    return found | {obj["metadata"]["name"]: obj["spec"]["jobTemplate"]["spec"]["template"] for obj in jobs}


def pod_spec(name: str = "tradewind") -> Object:
    spec: Object = templates()[name]["spec"]
    return spec


def containers() -> dict[str, Object]:
    """Every container that we ship: the base's, and those that overlays and components add."""
    sidecar = operations(OVERLAYS / "second-scheduler" / "sidecar.yaml")["/spec/template/spec/containers"]
    ours = [container for name in templates() for container in pod_spec(name)["containers"]]
    return {container["name"]: container for container in [*ours, *sidecar]}


def operations(path: Path) -> Object:
    """The values of a JSON patch by their paths."""
    return {operation["path"]: operation.get("value") for operation in read(path)}


def arguments() -> dict[str, list[str]]:
    """Every way in which we start the service, and the planner."""
    sidecar = operations(OVERLAYS / "second-scheduler" / "sidecar.yaml")
    tls = read(OVERLAYS / "kube-scheduler" / "tls.yaml")["spec"]["template"]["spec"]["containers"][0]
    return {
        "base": pod_spec()["containers"][0]["args"],
        "planner": pod_spec("tradewind-planner")["containers"][0]["args"],
        "kube-scheduler": tls["args"],
        "second-scheduler": sidecar["/spec/template/spec/initContainers/0/args"],
        "image": json.loads(instruction("CMD")),
    }


def instruction(name: str) -> str:
    """The last instruction of that name in the Dockerfile, on one line."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return str(re.findall(rf"^{name} +(.+)$", text, re.MULTILINE)[-1])


def cluster_ip(overlay: str) -> str:
    """The address that the overlay's inline patch gives the Service."""
    for patch in read(OVERLAYS / overlay / "kustomization.yaml")["patches"]:
        if patch.get("target", {}).get("kind") == "Service":
            (operation,) = yaml.safe_load(patch["patch"])
            return str(operation["value"])
    raise AssertionError(f"{overlay} gives the Service no address")
