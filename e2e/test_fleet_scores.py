"""Scores for hubs of others, against their own CRDs on a real API server."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e import karmada_binaries, toolchain
from e2e.api import Api
from e2e.objects import Object, namespace
from e2e.plane import ControlPlane
from e2e.tradewind import CONFIGURATION
from tradewind.cli.main import main
from tradewind.fleet.summary import NodeKind, NodeRow, Place, Summary, encode

_CRDS = {
    "open-cluster-management.io/api@v1.2.0": "cluster/v1alpha1/*addonplacementscores.crd.yaml",
    "sigs.k8s.io/cluster-inventory-api@v0.1.2": "config/crd/bases/*placementdecisions.yaml",
}
_MANIFESTS = Path(__file__).parents[1] / "manifests" / "fleet"
_SITES = "tradewind-sites"
_SCORES = "/apis/cluster.open-cluster-management.io/v1alpha1/namespaces/{}/addonplacementscores/tradewind"
_DECISION = f"/apis/multicluster.x-k8s.io/v1alpha1/namespaces/{_SITES}/placementdecisions/tradewind-web"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    try:
        empty = tmp_path_factory.mktemp("modules")
        files = [
            next(karmada_binaries.files_of(module, empty).glob(pattern)) for module, pattern in _CRDS.items()
        ]
    except (toolchain.BuildError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the CRDs could not be had: {error}")
    plane = ControlPlane()
    try:
        for file in files:
            plane.kubectl("apply", "--server-side", "-f", str(file))
        plane.kubectl("apply", "-f", str(_MANIFESTS / "sites.yaml"), "-f", str(_MANIFESTS / "scores.yaml"))
        plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        yield plane
    finally:
        plane.stop()


def _summary(name: str, cores: int, price: float) -> Object:
    amounts = (cores * 1000, 16 * 2**30, 110)
    summary = Summary(
        site=name, generation=1, time=time.time(), resources=("cpu", "memory", "pods"), nodes=2,
        free=tuple(2 * each for each in amounts), allocatable=tuple(2 * each for each in amounts),
        kinds=(NodeKind(allocatable=amounts, price=price),), rows=(NodeRow(0, 2, amounts),), place=Place(),
    )  # fmt: skip
    metadata = {
        "name": f"site-{name}",
        "namespace": _SITES,
        "labels": {"tradewind.dev/fleet": "summary"},
        "annotations": {"tradewind.dev/site": name},
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"summary": encode(summary)},
    }


def test_each_site_has_a_score_and_each_class_a_decision(hub: ControlPlane, tmp_path: Path) -> None:
    """Each as the user whom the manifests allow it."""
    api = Api(hub.kubeconfig)
    for name in ("cheap", "dear", "small"):
        api.create(namespace(name))
    # The scores of the last have nowhere to go; the others have.
    for name, cores, price in (
        ("cheap", 4, 0.1), ("dear", 4, 0.4), ("small", 1, 0.01), ("no-namespace", 4, 0.2)
    ):  # fmt: skip
        member = Api(hub.user_kubeconfig(f"tradewind:site:{name}", ["tradewind:sites"]))
        member.create(_summary(name, cores, price))
    classes = {"web": {"requests": {"cpu": "2", "memory": "1Gi"}}, "tiny": {"requests": {"cpu": "100m"}}}
    config = tmp_path / "tradewind.yaml"
    config.write_text(yaml.safe_dump({**CONFIGURATION, "fleet": {"classes": classes}}))
    user = hub.user_kubeconfig("tradewind-fleet-scores")
    asked = ["fleet-scores", "--config", str(config), "--kubeconfig", str(user)]
    main([*asked, "--write", "ocm", "--write", "decisions"])

    def scores(site: str) -> dict[str, int]:
        return {each["name"]: each["value"] for each in api.read(_SCORES.format(site))["status"]["scores"]}

    assert 100 >= scores("cheap")["web"] > scores("dear")["web"] >= 0
    assert scores("small")["web"] == -100
    assert scores("small")["tiny"] >= 0
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert api.read(_SCORES.format("cheap"))["status"]["validUntil"] > now

    def chosen() -> list[str]:
        return [each["clusterProfileRef"]["name"] for each in api.read(_DECISION)["decisions"]]

    assert chosen() == ["cheap", "no-namespace", "dear"]
    api.patch(
        f"/api/v1/namespaces/{_SITES}/configmaps/site-cheap", {"data": _summary("cheap", 1, 0.1)["data"]}
    )
    main([*asked, "--write", "ocm", "--write", "decisions"])
    assert scores("cheap")["web"] == -100
    assert chosen() == ["no-namespace", "dear"]
