"""Each component in each overlay: rendered as the guide says, the switch reaches the service's container."""

import shutil
from pathlib import Path

import pytest
import yaml

from e2e.installation.installation import OVERLAYS, ROOT
from e2e.objects import Object
from e2e.plane import ControlPlane

pytestmark = pytest.mark.local_only

_SWITCHES = {
    "bind": "TRADEWIND_BIND",
    "market": "TRADEWIND_LEARN",
    "protect-floor": "TRADEWIND_PROTECT_FLOOR",
}


def rendered(plane: ControlPlane, directory: Path, overlay: str, component: str) -> list[Object]:
    shutil.copytree(ROOT / "manifests", directory / "manifests")
    kustomization = directory / "manifests" / "overlays" / overlay / "kustomization.yaml"
    with kustomization.open("a") as file:
        file.write(f"\ncomponents:\n  - ../../components/{component}\n")
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(kustomization.parent))))


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("component", _SWITCHES)
def test_component_switches_the_service(
    plane: ControlPlane, tmp_path: Path, *, overlay: str, component: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, component)
    (deployment,) = [obj for obj in objects if obj["kind"] == "Deployment"]
    spec = deployment["spec"]["template"]["spec"]
    (service,) = [
        c for c in (*spec["containers"], *spec.get("initContainers", [])) if c["name"] == "tradewind"
    ]
    assert {"name": _SWITCHES[component], "value": "true"} in service["env"]
    roles = {obj["metadata"]["name"] for obj in objects if obj["kind"] in {"Role", "ClusterRole"}}
    assert f"tradewind-{component}" in roles
    if component == "bind":
        assert deployment["spec"]["replicas"] == 1
