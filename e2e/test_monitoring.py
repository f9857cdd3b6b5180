"""Every query of the dashboard and every alert, on a Prometheus that scrapes a Tradewind at work."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e import fake, objects, outcomes, tools
from e2e.api import Api
from e2e.conftest import AddNodes, StartPlanner, next_name
from e2e.installation.installation import eventually
from e2e.plane import ControlPlane
from e2e.prometheus import Prometheus
from e2e.tradewind import Tradewind

_MONITORING = Path(__file__).parents[1] / "manifests" / "components" / "monitoring"
_NAMESPACE = "tradewind-system"
_PODS = 30


def queries() -> Iterator[tuple[str, str]]:
    """As Grafana would send them, with its variables filled in."""
    for panel in json.loads((_MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"].replace("$namespace", _NAMESPACE).replace("$__rate_interval", "1m")
            yield panel["title"], text


@pytest.fixture
def prometheus(
    plane: ControlPlane, tradewind: Tradewind, start_planner: StartPlanner
) -> Iterator[Prometheus]:
    program = tools.need("prometheus")
    services = {"tradewind-0": tradewind, "tradewind-planner-0": start_planner({})}
    targets = {
        service.probes.removeprefix("http://"): {"namespace": _NAMESPACE, "pod": pod}
        for pod, service in services.items()
    }
    rules = yaml.safe_load((_MONITORING / "rules.yaml").read_text())["spec"]
    name = next_name("prometheus")
    with Prometheus(program, plane.workspace, None, name, targets=targets, rules=rules) as server:
        # Rates are of what comes after the first scrape.
        eventually(lambda: len(server.query("tradewind_build_info")) == len(targets))
        yield server


@pytest.fixture
def held(api: Api, add_nodes: AddNodes) -> Iterator[str]:
    add_nodes(objects.node("cheap", price=0.1), objects.node("dear", price=0.4))
    name = fake.add_namespace(api, held=True)
    yield name
    fake.remove_namespace(api, name)


@pytest.mark.usefixtures("scheduling")
def test_the_dashboard_and_the_alerts_are_about_what_a_tradewind_says(
    api: Api, prometheus: Prometheus, held: str
) -> None:
    opt_out = {"tradewind.dev/disk-type": "tape", "tradewind.dev/plan-hold": "false"}
    api.create(objects.pod("odd", held, annotations=opt_out))
    for number in range(_PODS):
        api.create(objects.pod(f"pod-{number}", held))
        time.sleep(0.05)  # several scrapes are in between
    outcomes.bound_nodes(api, held, count=_PODS)

    def empty() -> list[str]:
        return [title for title, text in queries() if not prometheus.query(text)]

    try:
        eventually(lambda: not empty())
    except outcomes.NotSeenError:
        assert empty() == []
    eventually(lambda: all(rule["health"] == "ok" for rule in prometheus.rules()))
    states = {rule["name"]: rule["state"] for rule in prometheus.rules()}
    assert "firing" not in states.values()
    assert states["TradewindConfigurationRefused"] == "inactive"
