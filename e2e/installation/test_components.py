"""Each component in each overlay, rendered as the guide says: what it switches or brings is there."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from e2e.installation.installation import OVERLAYS, ROOT
from e2e.objects import Object
from e2e.plane import ControlPlane

_SWITCHES = {
    "bind": "TRADEWIND_BIND",
    "market": "TRADEWIND_LEARN",
}


def rendered(plane: ControlPlane, directory: Path, overlay: str, component: str) -> list[Object]:
    shutil.copytree(ROOT / "manifests", directory / "manifests")
    file = directory / "manifests" / "overlays" / overlay / "kustomization.yaml"
    kustomization = yaml.safe_load(file.read_text())
    kustomization["components"] = [f"../../components/{component}"]
    file.write_text(yaml.safe_dump(kustomization))
    return list(yaml.safe_load_all(plane.kubectl("kustomize", str(file.parent))))


def named(objects: list[Object], kind: str, name: str) -> list[Object]:
    return [obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("component", _SWITCHES)
def test_component_switches_the_service(
    plane: ControlPlane, tmp_path: Path, *, overlay: str, component: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, component)
    (deployment,) = named(objects, "Deployment", "tradewind")
    spec = deployment["spec"]["template"]["spec"]
    (service,) = [
        c for c in (*spec["containers"], *spec.get("initContainers", [])) if c["name"] == "tradewind"
    ]
    assert {"name": _SWITCHES[component], "value": "true"} in service["env"]
    roles = {obj["metadata"]["name"] for obj in objects if obj["kind"] in {"Role", "ClusterRole"}}
    assert f"tradewind-{component}" in roles
    if component == "bind":
        assert deployment["spec"]["replicas"] == 1


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(
    ("component", "variable"),
    [("protect-floor", "TRADEWIND_PROTECT_FLOOR"), ("evict", "TRADEWIND_EVICT")],
)
def test_component_switches_the_planner(
    plane: ControlPlane, tmp_path: Path, *, overlay: str, component: str, variable: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, component)
    (planner,) = named(objects, "Deployment", "tradewind-planner")
    (container,) = planner["spec"]["template"]["spec"]["containers"]
    assert {"name": variable, "value": "true"} in container["env"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_market_switches_the_planner_too(plane: ControlPlane, tmp_path: Path, overlay: str) -> None:
    objects = rendered(plane, tmp_path, overlay, "market")
    (planner,) = named(objects, "Deployment", "tradewind-planner")
    (container,) = planner["spec"]["template"]["spec"]["containers"]
    assert {"name": "TRADEWIND_LEARN", "value": "true"} in container["env"]
    (bound,) = named(objects, "RoleBinding", "tradewind-learned-rates")
    assert bound["subjects"][0]["name"] == planner["spec"]["template"]["spec"]["serviceAccountName"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_market_mounts_prices_and_credentials_where_there_are_any(
    plane: ControlPlane, tmp_path: Path, overlay: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, "market")
    for name in ("tradewind", "tradewind-planner"):
        (deployment,) = named(objects, "Deployment", name)
        spec = deployment["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        assert volumes["prices"]["configMap"] == {"name": "tradewind-prices", "optional": True}
        assert volumes["prometheus"]["secret"]["optional"] is True
        assert "config" in volumes  # what was there stays
        (ours,) = [
            each
            for each in (*spec["containers"], *spec.get("initContainers", []))
            if each["name"] != "kube-scheduler"
        ]
        mounted = {mount["name"]: mount["mountPath"] for mount in ours["volumeMounts"]}
        assert mounted["prices"] == "/etc/tradewind-prices"
        assert mounted["prometheus"] == "/etc/tradewind-prometheus"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_explain_is_exposed_where_its_service_leads(
    plane: ControlPlane, tmp_path: Path, overlay: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, "explain")
    (deployment,) = named(objects, "Deployment", "tradewind")
    spec = deployment["spec"]["template"]["spec"]
    (ours,) = [
        each
        for each in (*spec["containers"], *spec.get("initContainers", []))
        if each["name"] != "kube-scheduler"
    ]
    environment = {entry["name"]: entry.get("value") for entry in ours["env"]}
    (service,) = named(objects, "Service", "tradewind-explain")
    (policy,) = named(objects, "NetworkPolicy", "tradewind-explain")
    port = int(environment["TRADEWIND_EXPOSE_PORT"] or 0)
    assert service["spec"]["ports"][0]["targetPort"] == port
    assert policy["spec"]["ingress"] == [{"ports": [{"port": port}]}]
    mounted = {mount["name"]: mount["mountPath"] for mount in ours["volumeMounts"]}
    for variable, file in (("CERT_FILE", "tls.crt"), ("PRIVATE_KEY_FILE", "tls.key")):
        assert environment[f"TRADEWIND_EXPOSE_{variable}"] == f"{mounted['explain-tls']}/{file}"
    (reader,) = named(objects, "ClusterRole", "tradewind-explain-reader")
    assert reader["rules"] == [{"nonResourceURLs": ["/explain"], "verbs": ["get"]}]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_monitoring_brings_scraping_alerts_and_dashboard(
    plane: ControlPlane, tmp_path: Path, overlay: str
) -> None:
    objects = rendered(plane, tmp_path, overlay, "monitoring")
    found = {
        (obj["kind"], obj["metadata"]["name"], obj["metadata"]["namespace"])
        for obj in objects[1:]
        if obj["kind"] in {"PodMonitor", "PrometheusRule"}
    }
    assert found == {(kind, "tradewind", "tradewind-system") for kind in ("PodMonitor", "PrometheusRule")}
    (dashboard,) = named(objects, "ConfigMap", "tradewind-dashboard")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["tradewind.json"])["title"] == "Tradewind"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_hold_brings_policy_and_watchdog(plane: ControlPlane, tmp_path: Path, overlay: str) -> None:
    objects = rendered(plane, tmp_path, overlay, "hold")
    assert named(objects, "MutatingAdmissionPolicy", "tradewind-hold")
    assert named(objects, "MutatingAdmissionPolicyBinding", "tradewind-hold")
    (watchdog,) = named(objects, "CronJob", "tradewind-watchdog")
    (planner,) = named(objects, "Deployment", "tradewind-planner")
    (image,) = {
        obj["image"] for obj in watchdog["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    }
    assert image == planner["spec"]["template"]["spec"]["containers"][0]["image"]
