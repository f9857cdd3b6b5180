"""The Helm chart, rendered by helm: the same objects as kustomize makes, and what its values change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import fake, tools
from e2e.api import Api
from e2e.installation.chart import CHART, COMPONENTS, MODES, files, kustomized
from e2e.installation.installation import NAMESPACE, ROOT, Shell
from e2e.objects import Object
from e2e.plane import ControlPlane

_VERSION = "v1.36.3"
_DIGEST = f"sha256:{'0a' * 32}"
# As the overlays leave them for the user to set.
_IMAGES = {
    "image": {"repository": "IMAGE-NOT-SET"},
    "schedulerImage": {"repository": "KUBE-SCHEDULER-IMAGE-NOT-SET"},
}

Objects = dict[tuple[str, str], Object]


@pytest.fixture(scope="module")
def helm() -> Path:
    return tools.need("helm")


@pytest.fixture(scope="module")
def kubectl(plane: ControlPlane) -> Path:
    return plane.programs.kubectl


def by_name(objects: list[Object]) -> Objects:
    found = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    assert len(found) == len(objects)
    for obj in objects:
        if obj["kind"] == "Deployment":  # the order of volumes means nothing
            obj["spec"]["template"]["spec"]["volumes"].sort(key=lambda volume: volume["name"])
    return found


def rendered(
    helm: Path, values: dict[str, Any], namespace: str = NAMESPACE, version: str = _VERSION
) -> Objects:
    command: list[str | Path] = [
        "template",
        "tradewind",
        CHART,
        "--namespace",
        namespace,
        "--kube-version",
        version,
    ]
    done = tools.run(helm, *command, "--values", "-", stdin=yaml.safe_dump({**_IMAGES, **values}))
    assert done.returncode == 0, done.stderr
    return by_name([obj for obj in yaml.safe_load_all(done.stdout) if obj])


def test_files_are_what_kustomize_makes_now(kubectl: Path) -> None:
    there = {path.name: path.read_text() for path in (CHART / "files").iterdir()}
    assert there == files(kubectl), "the manifests have changed: run `make chart`"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "components",
    [
        [],
        *([name] for name in COMPONENTS if name != "hold-v1beta1"),
        ["hold", "hold-v1beta1"],
        ["market", "price-refresh"],
    ],
    ids="+".join,
)
def test_the_chart_installs_what_the_manifests_install(
    helm: Path, kubectl: Path, *, mode: str, components: list[str]
) -> None:
    expected = by_name(kustomized(kubectl, mode, components))
    values = {"mode": mode, "createNamespace": True, "components": dict.fromkeys(components, True)}
    assert rendered(helm, values) == expected


def test_helm_has_nothing_against_the_chart(helm: Path) -> None:
    done = tools.run(helm, "lint", "--strict", CHART)
    assert done.returncode == 0, done.stdout


def test_versions_are_those_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["version"]}"' in (ROOT / "pyproject.toml").read_text()
    assert chart["appVersion"] == chart["version"]


def test_every_component_can_be_switched() -> None:
    assert sorted(yaml.safe_load((CHART / "values.yaml").read_text())["components"]) == COMPONENTS


@pytest.mark.parametrize("mode", MODES)
def test_another_namespace_is_used_throughout(helm: Path, mode: str) -> None:
    components = dict.fromkeys(COMPONENTS, True)
    objects = rendered(helm, {"mode": mode, "components": components}, namespace="elsewhere")
    assert ("Namespace", "elsewhere") not in objects
    assert NAMESPACE not in yaml.safe_dump(list(objects.values()))


def pod(objects: Objects, name: str) -> Any:
    return objects["Deployment", name]["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("values", "look", "seen"),
    [
        pytest.param(
            {"image": {"repository": "mirror/tradewind", "tag": "1.2.3", "pullPolicy": "Always"}},
            lambda objects: {
                (each["image"], each["imagePullPolicy"])
                for spec in (pod(objects, "tradewind"), pod(objects, "tradewind-planner"))
                for each in (*spec.get("initContainers", ()), *spec["containers"])
                if each["name"] != "kube-scheduler"
            },
            {("mirror/tradewind:1.2.3", "Always")},
            id="the image",
        ),
        pytest.param(
            {"image": {"repository": "mirror/tradewind", "digest": _DIGEST}},
            lambda objects: pod(objects, "tradewind-planner")["containers"][0]["image"],
            f"mirror/tradewind@{_DIGEST}",
            id="a digest",
        ),
        pytest.param(
            {"image": {"repository": "mirror/tradewind", "tag": "1.2.3", "digest": _DIGEST}},
            lambda objects: pod(objects, "tradewind-planner")["containers"][0]["image"],
            f"mirror/tradewind:1.2.3@{_DIGEST}",
            id="a digest beside a tag",
        ),
        pytest.param(
            {"schedulerImage": {"repository": "mirror/kube-scheduler", "tag": "v1.34.1"}},
            lambda objects: pod(objects, "tradewind")["containers"][0]["image"],
            "mirror/kube-scheduler:v1.34.1",
            id="the scheduler's image",
        ),
        pytest.param(
            {"schedulerImage": {"repository": "mirror/kube-scheduler", "digest": _DIGEST}},
            lambda objects: pod(objects, "tradewind")["containers"][0]["image"],
            f"mirror/kube-scheduler@{_DIGEST}",
            id="the scheduler's digest",
        ),
        pytest.param(
            {"replicas": 3, "resources": {"limits": {"memory": "4Gi"}}, "components": {"fleet": True}},
            lambda objects: (
                objects["Deployment", "tradewind-fleet"]["spec"]["replicas"],
                pod(objects, "tradewind-fleet")["containers"][0]["resources"]["limits"],
            ),
            (2, {"memory": "1Gi"}),
            id="not the fleet's scheduler by the extender's size",
        ),
        pytest.param(
            {"replicas": 3, "planner": {"replicas": 1}},
            lambda objects: [
                objects["Deployment", name]["spec"]["replicas"] for name in ("tradewind", "tradewind-planner")
            ],
            [3, 1],
            id="replicas",
        ),
        pytest.param(
            {"planner": {"resources": {"limits": {"memory": "4Gi"}}}},
            lambda objects: pod(objects, "tradewind-planner")["containers"][0]["resources"],
            {"limits": {"memory": "4Gi"}},
            id="resources",
        ),
        pytest.param(
            {"config": {"weights": {"price": 3}}},
            lambda objects: yaml.safe_load(objects["ConfigMap", "tradewind"]["data"]["tradewind.yaml"]),
            {
                "apiVersion": "tradewind.dev/v1alpha1",
                "kind": "TradewindConfiguration",
                "weights": {"price": 3},
            },
            id="the configuration",
        ),
        pytest.param(
            {"mode": "kube-scheduler", "clusterIP": "10.0.0.7"},
            lambda objects: objects["Service", "tradewind"]["spec"]["clusterIP"],
            "10.0.0.7",
            id="the address",
        ),
        pytest.param(
            {"nodeSelector": {"pool": "system"}, "tolerations": [{"key": "system", "operator": "Exists"}]},
            lambda objects: [pod(objects, "tradewind")[key] for key in ("nodeSelector", "tolerations")],
            [
                {"kubernetes.io/os": "linux", "pool": "system"},
                [{"key": "system", "operator": "Exists"}],
            ],
            id="nodes",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "mirror"}], "components": {"hold": True}},
            lambda objects: objects["CronJob", "tradewind-watchdog"]["spec"]["jobTemplate"]["spec"][
                "template"
            ]["spec"]["imagePullSecrets"],
            [{"name": "mirror"}],
            id="pull secrets, of the watchdog too",
        ),
        pytest.param(
            {"priceList": "https://prices.example/list.csv", "components": {"price-refresh": True}},
            lambda objects: objects["CronJob", "tradewind-prices"]["spec"]["jobTemplate"]["spec"]["template"][
                "spec"
            ]["containers"][0]["env"][1],
            {"name": "PRICE_LIST", "value": "https://prices.example/list.csv"},
            id="the price list",
        ),
    ],
)
def test_values_change(helm: Path, values: dict[str, Any], look: Callable[[Objects], Any], seen: Any) -> None:
    assert look(rendered(helm, values)) == seen


@pytest.mark.parametrize(
    ("cluster", "tag"),
    [("v1.34.4", "v1.34.4"), ("v1.35.1-eks-7f9249a", "v1.35.1"), ("v1.36.2-gke.1080000", "v1.36.2")],
)
def test_the_second_scheduler_has_the_version_of_the_cluster(helm: Path, cluster: str, tag: str) -> None:
    objects = rendered(helm, {"schedulerImage": {"repository": "mirror/kube-scheduler"}}, version=cluster)
    assert pod(objects, "tradewind")["containers"][0]["image"] == f"mirror/kube-scheduler:{tag}"


def test_a_self_managed_control_plane_needs_no_image_of_a_scheduler(helm: Path) -> None:
    assert rendered(helm, {"mode": "kube-scheduler", "schedulerImage": {"repository": ""}})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mode": "managed"}, "mode"),
        ({"replica": 2}, "replica"),
        ({"replicas": 0}, "replicas"),
        ({"components": {"holds": True}}, "holds"),
        ({"components": {"hold": "yes"}}, "hold"),
        ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
        ({"image": {"digest": "sha256:0a"}}, "digest"),
        ({"schedulerImage": {"pullPolicy": "Always"}}, "pullPolicy"),
        ({"image": {"repository": ""}}, "image.repository is not set. Name the image"),
        ({"schedulerImage": {"repository": ""}}, "schedulerImage.repository is not set. Name the image"),
        ({"priceList": "prices.csv"}, "components.price-refresh=true"),
        ({"components": {"hold-v1beta1": True}}, "without components.hold"),
        ({"config": {"kind": "TradewindConfiguration"}}, "config"),
    ],
)
def test_wrong_values_are_refused(helm: Path, values: dict[str, Any], said: str) -> None:
    command: list[str | Path] = ["template", "tradewind", CHART, "--kube-version", _VERSION, "--values", "-"]
    done = tools.run(helm, *command, stdin=yaml.safe_dump({**_IMAGES, **values}))
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_the_api_server_takes_all_of_it(
    helm: Path, shell: Shell, api: Api, plane: ControlPlane, mode: str
) -> None:
    """Without a warning, in a namespace of another name. The operator of Prometheus would bring its types."""
    components = dict.fromkeys(COMPONENTS, True) | {"monitoring": False, "hold-v1beta1": plane.beta_policies}
    namespace = fake.add_namespace(api, "chart")
    try:
        objects = rendered(helm, {"mode": mode, "components": components}, namespace)
        # Another test's overlay may be there, whose ClusterRoles have the same names.
        apply = (
            "kubectl apply --server-side --dry-run=server --force-conflicts --warnings-as-errors --filename=-"
        )
        said = shell.run(apply, yaml.safe_dump_all(objects.values())).splitlines()
        assert len(said) == len(objects)
    finally:
        fake.remove_namespace(api, namespace)
