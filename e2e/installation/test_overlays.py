"""Each overlay applied, its pods admitted, and the cluster's kube-scheduler run with its configuration."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from e2e import objects, outcomes
from e2e.api import Api, ApiError
from e2e.certs import KeyPair
from e2e.conftest import AddNodes, StartScheduler
from e2e.installation.conftest import Place, Serve, only
from e2e.installation.installation import (
    NAMESPACE,
    Installation,
    Shell,
    commands,
    dry_run,
    scheduler_configuration,
    vacate,
)
from e2e.objects import Object
from e2e.processes import free_port
from e2e.tradewind import Tls

STATIC_POD = """
apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system}
spec:
  containers:
    - name: kube-scheduler
      image: kube-scheduler
      command: [kube-scheduler, --leader-elect=true]
      volumeMounts: [{name: kubeconfig, mountPath: /etc/kubernetes/scheduler.conf}]
  volumes: [{name: kubeconfig, hostPath: {path: /etc/kubernetes/scheduler.conf}}]
"""


def test_overlay_is_applied_whole_and_without_a_warning(installed: Installation) -> None:
    assert len(installed.applied) == len(installed.objects)
    assert all(line.endswith("serverside-applied") for line in installed.applied)


def test_pods_are_admitted_under_the_restricted_standard(installed: Installation, api: Api) -> None:
    for pod in installed.pods.values():
        assert dry_run(api, pod)["spec"]["priority"] == 2_000_000_000


def test_pods_that_break_the_standard_are_refused(installed: Installation, api: Api) -> None:
    pod = deepcopy(installed.pod)
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(ApiError, match="violates PodSecurity") as refused:
        dry_run(api, pod)
    assert refused.value.status == 403


def test_quota_has_room_for_a_rollout_of_everything(installed: Installation) -> None:
    """Both Deployments with one pod more while they roll, and a run of the watchdog."""
    (quota,) = (obj for obj in installed.objects if obj["kind"] == "ResourceQuota")
    deployments = [obj["spec"] for obj in installed.objects if obj["kind"] == "Deployment"]
    most = sum(spec["replicas"] + spec["strategy"]["rollingUpdate"]["maxSurge"] for spec in deployments)
    assert int(quota["spec"]["hard"]["pods"]) > most


def test_selectors_tell_the_planner_from_the_extender(installed: Installation) -> None:
    labels = {name: pod["metadata"]["labels"] for name, pod in installed.pods.items()}
    selectors = {
        (obj["kind"], obj["metadata"]["name"]): selector_of(obj)
        for obj in installed.objects
        if obj["kind"] in {"Service", "PodDisruptionBudget", "Deployment"}
    }
    for (kind, name), selector in selectors.items():
        chosen = {pod for pod, has in labels.items() if selector.items() <= has.items()}
        assert chosen == {name}, kind


def selector_of(obj: Object) -> dict[str, str]:
    selector = obj["spec"]["selector"]
    return dict(selector.get("matchLabels", selector))


def test_all_containers_of_ours_run_the_same_image(installed: Installation) -> None:
    containers = [
        container
        for pod in installed.pods.values()
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
        if container["name"] != "kube-scheduler"
    ]
    assert len(containers) == len(installed.pods)
    assert len({(container["image"], container["imagePullPolicy"]) for container in containers}) == 1


@only("kind", "kube-scheduler")
def test_service_gets_the_address_that_the_extender_entry_names(installed: Installation, api: Api) -> None:
    service = api.read(f"/api/v1/namespaces/{NAMESPACE}/services/tradewind")
    (extender,) = scheduler_configuration(installed.overlay)["extenders"]
    assert f"//{service['spec']['clusterIP']}:8888" in extender["urlPrefix"]


@only("kind")
def test_cluster_scheduler_of_kind_listens_to_us(
    installed: Installation, serve: Serve, start_scheduler: StartScheduler, place: Place
) -> None:
    start_scheduler(scheduler_configuration(installed.overlay, url=serve(None).url))
    assert place() == {"cheap"}


@only("kube-scheduler")
def test_cluster_scheduler_listens_to_us_with_the_certificates_of_the_guide(
    installed: Installation, serve: Serve, start_scheduler: StartScheduler, place: Place, pki: Path
) -> None:
    tls = Tls(serving=KeyPair(cert=pki / "tls.crt", key=pki / "tls.key"), client_ca=pki / "ca.crt")
    configuration = scheduler_configuration(installed.overlay, url=serve(tls).url)
    files = configuration["extenders"][0]["tlsConfig"]
    files |= {key: str(pki / Path(path).name) for key, path in files.items() if key.endswith("File")}
    start_scheduler(configuration)
    assert place() == {"cheap"}


@only("kube-scheduler")
def test_our_own_pods_are_placed_while_we_are_down(
    installed: Installation, api: Api, add_nodes: AddNodes, start_scheduler: StartScheduler
) -> None:
    vacate(api, "kube-system", "kube-scheduler")
    add_nodes(objects.node("host", labels={"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}))
    configuration = scheduler_configuration(installed.overlay, url=f"http://127.0.0.1:{free_port()}")
    # kube-scheduler would not start without the files of a TLS that is not the point here.
    configuration["extenders"][0] |= {"enableHTTPS": False, "tlsConfig": None}
    start_scheduler(configuration)
    pod = api.create(installed.pod)["metadata"]["name"]
    assert outcomes.bound_node(api, NAMESPACE, pod) == "host"


@only("kube-scheduler")
def test_guide_makes_the_secret_that_the_pods_mount(
    installed: Installation, shell: Shell, api: Api, pki: Path
) -> None:
    steps = commands("### 3. Tradewind").replace("tradewind-pki", str(pki)).splitlines()
    # Without a kubelet no pod ever runs.
    shell.run("\n".join(step for step in steps if "rollout status" not in step))
    secret = api.read(f"/api/v1/namespaces/{NAMESPACE}/secrets/tradewind-tls")
    assert secret["data"].keys() == {"tls.crt", "tls.key", "ca.crt"}
    (volume,) = (entry for entry in installed.pod["spec"]["volumes"] if entry["name"] == "tls")
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]


def test_static_pod_patch_keeps_what_was_there(shell: Shell) -> None:
    patch = "--type json --patch-file manifests/kubeadm/kube-scheduler+json.yaml"
    pod = yaml.safe_load(shell.run(f"kubectl patch --local {patch} -o yaml -f -", STATIC_POD))["spec"]
    assert pod["containers"][0]["command"] == [
        "kube-scheduler",
        "--leader-elect=true",
        "--config=/etc/kubernetes/tradewind/kube-scheduler-config.yaml",
    ]
    assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == ["kubeconfig", "tradewind"]
    assert [volume["name"] for volume in pod["volumes"]] == ["kubeconfig", "tradewind"]
