"""What the hold promises; what the API server makes of it is tested in e2e."""

import pytest

from tests.manifests.files import BASE, HOLD, Object, documents, pod_spec, read
from tradewind.cli import main as cli
from tradewind.planner.gate import GATE


@pytest.fixture
def policy() -> Object:
    return dict(documents(HOLD / "policy.yaml")[0])


def test_broken_policy_never_refuses_a_pod(policy: Object) -> None:
    assert policy["spec"]["failurePolicy"] == "Ignore"


def test_only_new_pods_are_changed(policy: Object) -> None:
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert rule["operations"] == ["CREATE"]
    assert rule["resources"] == ["pods"]


def test_gate_is_the_one_that_the_planner_removes(policy: Object) -> None:
    (mutation,) = policy["spec"]["mutations"]
    assert f"name: '{GATE}'" in mutation["applyConfiguration"]["expression"]


def test_bindings_apply_the_policy_to_labelled_namespaces_alone(policy: Object) -> None:
    bindings = documents(HOLD / "policy.yaml")[1:]
    assert {binding["spec"]["policyName"] for binding in bindings} == {policy["metadata"]["name"]}
    labels = [binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"] for binding in bindings]
    assert labels == [{"tradewind.dev/hold": "enabled"}, {"tradewind.dev/plan": "enabled"}]


def test_policy_watches_nothing_in_the_api_server(policy: Object) -> None:
    """kube-apiserver 1.36 stops such a watch with the policy, and never starts it again for the next one."""
    assert "paramKind" not in policy["spec"]


def test_watchdog_goes_on_whatever_becomes_of_a_run() -> None:
    spec = read(HOLD / "watchdog.yaml")["spec"]
    assert spec["schedule"] == "* * * * *"
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["startingDeadlineSeconds"] >= 60, "else a late controller would skip runs for ever"
    assert spec["successfulJobsHistoryLimit"] + spec["failedJobsHistoryLimit"] <= 4
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] <= 300, "Forbid waits for its end"
    assert pod_spec("tradewind-watchdog")["restartPolicy"] == "Never"


def test_watchdog_asks_for_what_the_command_understands() -> None:
    (container,) = pod_spec("tradewind-watchdog")["containers"]
    assert cli.parser().parse_args(container["args"]).if_stale == 120


def test_watchdog_runs_the_version_of_the_rest() -> None:
    assert read(HOLD / "kustomization.yaml")["images"] == read(BASE / "kustomization.yaml")["images"]
