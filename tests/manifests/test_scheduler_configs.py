"""What our extender entries promise; that kube-scheduler accepts them is tested in e2e."""

from urllib.parse import urlsplit

import pytest

from tests.manifests.files import (
    MANIFESTS,
    SCHEDULER_CONFIGS,
    Object,
    arguments,
    cluster_ip,
    operations,
    read,
)


@pytest.fixture(params=sorted(SCHEDULER_CONFIGS))
def overlay(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def extender(overlay: str) -> Object:
    (entry,) = read(SCHEDULER_CONFIGS[overlay])["extenders"]
    return dict(entry)


def test_every_overlay_has_a_scheduler_configuration() -> None:
    assert set(SCHEDULER_CONFIGS) == {
        path.parent.name for path in MANIFESTS.glob("overlays/*/kustomization.yaml")
    }


def test_cluster_schedules_without_us(extender: Object) -> None:
    assert extender["ignorable"] is True
    assert extender["httpTimeout"] == "1s"


def test_names_are_sent_instead_of_whole_nodes(extender: Object) -> None:
    assert extender["nodeCacheCapable"] is True


def test_only_verbs_that_the_service_answers_are_configured(extender: Object) -> None:
    verbs = {key: value for key, value in extender.items() if key.endswith("Verb")}
    assert verbs == {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt"}


def test_https_is_verified(extender: Object) -> None:
    https = urlsplit(extender["urlPrefix"]).scheme == "https"
    assert extender["enableHTTPS"] is https
    if https:
        assert extender["tlsConfig"].keys() == {"caFile", "certFile", "keyFile", "serverName"}


def test_address_is_where_the_service_is(overlay: str, extender: Object) -> None:
    address = urlsplit(extender["urlPrefix"])
    expected = "127.0.0.1" if overlay == "second-scheduler" else cluster_ip(overlay)
    assert address.hostname == expected
    assert f"--port={address.port}" in arguments().get(overlay, arguments()["base"])


def test_extender_settings_differ_only_in_how_it_is_reached() -> None:
    reached = {"urlPrefix", "enableHTTPS", "tlsConfig"}
    entries = [read(path)["extenders"][0] for path in SCHEDULER_CONFIGS.values()]
    assert len({str({k: v for k, v in entry.items() if k not in reached}) for entry in entries}) == 1


def test_second_scheduler_leaves_the_first_one_alone() -> None:
    second = read(SCHEDULER_CONFIGS["second-scheduler"])
    assert second["leaderElection"] == {
        "leaderElect": True,
        "resourceNamespace": "tradewind-system",
        "resourceName": "tradewind-scheduler",
    }
    assert [profile["schedulerName"] for profile in second["profiles"]] == ["tradewind"]


@pytest.mark.parametrize("overlay", ["kube-scheduler", "kind"])
def test_static_pod_patch_mounts_every_file_that_the_configuration_names(overlay: str) -> None:
    patch = operations(MANIFESTS / "kubeadm" / "kube-scheduler+json.yaml")
    mount = patch["/spec/containers/0/volumeMounts/-"]["mountPath"]
    tls = read(SCHEDULER_CONFIGS[overlay])["extenders"][0].get("tlsConfig", {})
    assert patch["/spec/containers/0/command/-"] == f"--config={mount}/kube-scheduler-config.yaml"
    assert patch["/spec/volumes/-"]["hostPath"]["path"] == mount
    assert all(path.startswith(f"{mount}/") for key, path in tls.items() if key.endswith("File"))


def test_kind_mounts_what_its_control_plane_reads() -> None:
    nodes = read(MANIFESTS / "overlays" / "kind" / "kind-cluster.yaml")["nodes"]
    mounts = {mount["containerPath"]: mount["hostPath"] for mount in nodes[0]["extraMounts"]}
    patch = operations(MANIFESTS / "kubeadm" / "kube-scheduler+json.yaml")
    config = patch["/spec/containers/0/command/-"].removeprefix("--config=")
    assert mounts[config] == "manifests/overlays/kind/kube-scheduler-config.yaml"
    assert all((MANIFESTS.parent / path).exists() for path in mounts.values())
    assert any("directory: /etc/tradewind-kubeadm" in patch for patch in nodes[0]["kubeadmConfigPatches"])
    assert mounts["/etc/tradewind-kubeadm"] == "manifests/kubeadm"
