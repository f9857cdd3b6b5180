from argparse import Namespace
from pathlib import PurePath
from typing import Any

import pytest
import yaml

from tests.manifests.files import (
    BASE,
    OVERLAYS,
    Object,
    arguments,
    containers,
    instruction,
    pod_spec,
    read,
    templates,
)
from tradewind.cli import main as cli
from tradewind.config import document as config

CONTAINERS = containers()
ARGUMENTS = arguments()


def served(name: str) -> Namespace:
    """What the real parser makes of the arguments; it exits if it does not accept them."""
    return cli.parser().parse_args(ARGUMENTS[name])


@pytest.fixture(params=templates())
def workload(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CONTAINERS)
def container(request: pytest.FixtureRequest) -> Object:
    return CONTAINERS[request.param]


@pytest.fixture(params=[name for name in CONTAINERS if name not in {"watchdog", "prices"}])
def server(request: pytest.FixtureRequest) -> Object:
    """A container that runs until it is stopped; those of jobs end by themselves."""
    return CONTAINERS[request.param]


def test_pods_never_run_as_root(workload: str) -> None:
    context = pod_spec(workload)["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["runAsGroup"] > 0
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_image_runs_as_the_same_numeric_user_as_the_pods(workload: str) -> None:
    context = pod_spec(workload)["securityContext"]
    assert instruction("USER") == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_containers_cannot_gain_privileges_or_write_their_root(container: Object) -> None:
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_containers_are_sized(container: Object) -> None:
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}, "a CPU limit throttles scheduling"


def test_servers_are_probed_on_a_port_that_they_list(server: Object) -> None:
    assert server["livenessProbe"]["httpGet"]["path"] in {"/healthz", "/livez"}
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"
    listed = {port["containerPort"] for port in server["ports"]}
    probes = [probe for key, probe in server.items() if key.endswith("Probe")]
    assert {probe["httpGet"]["port"] for probe in probes} <= listed


def test_network_policies_name_ports_by_number() -> None:
    """Not every CNI resolves the named ports of a sidecar, which is an init container."""
    listed = {
        port["containerPort"] for container in CONTAINERS.values() for port in container.get("ports", ())
    }
    opened = {
        port["port"]
        for rule in read(BASE / "network-policy.yaml")["spec"]["ingress"]
        for port in rule["ports"]
    }
    for overlay in OVERLAYS.iterdir():
        for patch in read(overlay / "kustomization.yaml")["patches"]:
            if patch.get("target", {}).get("kind") == "NetworkPolicy":
                (operation,) = yaml.safe_load(patch["patch"])
                value = operation["value"]
                opened |= {port["port"] for port in value.get("ports", [value])}
    assert opened == {8888, 8889, 10259} == listed


def test_pods_do_not_wait_for_a_scheduler_that_waits_for_them(workload: str) -> None:
    second = read(OVERLAYS / "second-scheduler" / "kube-scheduler-config.yaml")
    assert pod_spec(workload)["schedulerName"] == "default-scheduler"
    assert [profile["schedulerName"] for profile in second["profiles"]] != ["default-scheduler"]


def test_every_workload_has_an_account_of_its_own(workload: str) -> None:
    assert pod_spec(workload)["serviceAccountName"] == workload
    assert pod_spec(workload)["automountServiceAccountToken"] is True


def test_planner_is_deployed_as_the_extender_is() -> None:
    extender, planner = (read(BASE / file)["spec"] for file in ("deployment.yaml", "planner.yaml"))
    assert {key for key in extender if extender[key] != planner[key]} == {"selector", "template"}
    ours, theirs = extender["template"]["spec"], planner["template"]["spec"]
    own = {"serviceAccountName", "topologySpreadConstraints", "containers"}
    assert ours.keys() == theirs.keys()
    assert {key for key in ours if ours[key] != theirs[key]} == own
    spread = str(ours["topologySpreadConstraints"]).replace("'extender'", "'planner'")
    assert spread == str(theirs["topologySpreadConstraints"])


def test_shipped_configuration_is_accepted_and_means_the_defaults() -> None:
    assert config.read(BASE / "tradewind.yaml").policies().default == config.DEFAULT.policies().default


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name != "image"])
def test_configuration_is_mounted_as_a_directory_that_follows_changes(name: str) -> None:
    container, workload = (
        ("planner", "tradewind-planner") if name == "planner" else ("tradewind", "tradewind")
    )
    (mount,) = [entry for entry in CONTAINERS[container]["volumeMounts"] if entry["name"] == "config"]
    (generated,) = read(BASE / "kustomization.yaml")["configMapGenerator"]
    (volume,) = [entry for entry in pod_spec(workload)["volumes"] if entry["name"] == "config"]
    assert "subPath" not in mount
    config_file = served(name).config
    assert config_file.parent == PurePath(mount["mountPath"])
    assert [config_file.name] == generated["files"]
    assert volume["configMap"]["name"] == generated["name"]
    assert generated["options"]["disableNameSuffixHash"] is True


def test_planner_is_probed_where_it_listens() -> None:
    options = served("planner")
    (probes,) = CONTAINERS["planner"]["ports"]
    assert (options.probe_host, options.probe_port) == ("0.0.0.0", probes["containerPort"])  # noqa: S104  in a pod


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name != "planner"])
def test_service_listens_where_it_is_probed_and_called(name: str) -> None:
    ports = {port["name"]: port["containerPort"] for port in CONTAINERS["tradewind"]["ports"]}
    options = served(name)
    assert (options.port, options.probe_port) == (ports["extender"], ports["probes"])
    assert instruction("EXPOSE") == f"{ports['extender']} {ports['probes']}"


def test_service_leads_to_the_named_ports() -> None:
    named = {port["name"]: port["containerPort"] for port in CONTAINERS["tradewind"]["ports"]}
    led = {port["targetPort"]: port["port"] for port in read(BASE / "service.yaml")["spec"]["ports"]}
    assert led == named


def test_self_managed_clusters_get_tls_with_client_certificates_from_the_secret() -> None:
    options = served("kube-scheduler")
    template: Any = read(OVERLAYS / "kube-scheduler" / "tls.yaml")["spec"]["template"]["spec"]
    (mount,) = template["containers"][0]["volumeMounts"]
    files = [options.tls_cert_file, options.tls_private_key_file, options.client_ca_file]
    assert [(path.parent, path.name) for path in files] == [
        (PurePath(mount["mountPath"]), name) for name in ("tls.crt", "tls.key", "ca.crt")
    ]
    assert template["volumes"][0]["secret"]["secretName"] == "tradewind-tls"
    assert options.host is None, "with TLS the service listens on all addresses by itself"


def test_sidecar_serves_its_own_pod_only() -> None:
    assert served("second-scheduler").host == "127.0.0.1"
