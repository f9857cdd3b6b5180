"""The manifests of the fleet: they start commands of ours, which are probed and have no rights to spare."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tradewind.cli.main import parser

_FLEET = Path(__file__).parents[2] / "manifests" / "fleet"


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((_FLEET / name).read_text(encoding="utf-8")))


def _deployment(name: str) -> dict[str, Any]:
    (found,) = (each for each in _documents(name) if each["kind"] == "Deployment")
    return found


@pytest.mark.parametrize("name", ["scheduler/deployment.yaml", "site.yaml"])
def test_the_container_runs_a_command_that_there_is_and_is_probed(name: str, tmp_path: Path) -> None:
    deployment = _deployment(name)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    config = tmp_path / "tradewind.yaml"
    config.write_text("apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n")
    arguments = [f"--config={config}" if each.startswith("--config=") else each for each in container["args"]]
    options = parser().parse_args(arguments)
    (port,) = container["ports"]
    assert options.probe_port == port["containerPort"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["containerPort"]
    mounts = {each["mountPath"]: each["readOnly"] for each in container["volumeMounts"]}
    assert mounts == {"/etc/tradewind": True, "/etc/tradewind-hub": True}
    assert container["securityContext"]["readOnlyRootFilesystem"]


@pytest.mark.parametrize("name", ["scheduler/deployment.yaml", "site.yaml"])
def test_policies_select_the_pods(name: str) -> None:
    labels = _deployment(name)["spec"]["template"]["metadata"]["labels"]
    selectors = [
        each["spec"].get("podSelector") or each["spec"]["selector"]
        for each in _documents(name)
        if each["kind"] in {"NetworkPolicy", "PodDisruptionBudget"}
    ]
    assert selectors
    assert all(each["matchLabels"] == labels for each in selectors)


def test_the_scheduler_has_no_rights_where_it_runs() -> None:
    assert not _deployment("scheduler/deployment.yaml")["spec"]["template"]["spec"][
        "automountServiceAccountToken"
    ]
    assert not {each["kind"] for each in _documents("scheduler/deployment.yaml")} & {
        "ClusterRoleBinding",
        "RoleBinding",
    }


def test_the_planner_publishes_where_the_component_says(monkeypatch: pytest.MonkeyPatch) -> None:
    component = yaml.safe_load((_FLEET.parent / "components/fleet-site/kustomization.yaml").read_text())
    operations = yaml.safe_load(component["patches"][0]["patch"])
    variable, mount = operations[0]["value"], operations[1]["value"]
    monkeypatch.setenv(variable["name"], variable["value"])
    assert parser().parse_args(["planner"]).hub_kubeconfig == Path(variable["value"])
    assert Path(variable["value"]).parent == Path(mount["mountPath"])


def test_members_have_no_rights_where_the_ledgers_are() -> None:
    bound = [
        each["metadata"]["namespace"]
        for file in _FLEET.rglob("*.yaml")
        for each in _documents(str(file.relative_to(_FLEET)))
        if each["kind"].endswith("RoleBinding")
        for subject in each["subjects"]
        if subject["name"] == "tradewind:sites"
    ]
    assert bound == ["tradewind-sites"]
