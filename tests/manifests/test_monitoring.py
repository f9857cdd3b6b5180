"""Alerts, scraping and dashboard: read by promtool, and about metrics and pods that there are."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from e2e import tools
from extender.metrics import ExtenderMetrics
from tests.manifests.files import MANIFESTS, ROOT, read, templates
from tradewind.cluster.metrics import ClusterMetrics
from tradewind.config.metrics import ConfigMetrics
from tradewind.controller.metrics import PlanMetrics
from tradewind.market.metrics import MarketMetrics

_MONITORING = MANIFESTS / "components" / "monitoring"
_RULES = read(_MONITORING / "rules.yaml")["spec"]
_DASHBOARD = json.loads((_MONITORING / "dashboard.json").read_text())
_RUNBOOKS = dict(
    re.findall(
        r"^## (Tradewind\w+)\n(.*?)(?=^## |\Z)",
        (ROOT / "docs" / "runbooks.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
)
_POD = 'namespace="tradewind-system", pod="tradewind-0"'

# Series of a Tradewind with which nothing is wrong, by what follows {namespace, pod}.
_HEALTHY = {
    "tradewind_build_info": ("", "1x60"),
    "tradewind_config_ok": ("", "1x60"),
    "tradewind_cluster_synced": ("", "1x60"),
    "tradewind_cluster_age_seconds": ('resource="pods"', "20x60"),
    "tradewind_planner_leading": ("", "1x60"),
    "tradewind_held_pods": ("", "40x60"),  # many, but no more than before
    "tradewind_solver_failures_total": ("", "0x60"),
    "tradewind_requests_total": ('verb="filter", outcome="ok"', "0+600x60"),
    "tradewind_market_coverage_ratio": ('quantity="price", source="estimated"', "0.2x60"),
}


@pytest.fixture(scope="module")
def promtool() -> Path:
    return tools.need("promtool")


@pytest.fixture
def rule_file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump(_RULES))
    return path


def test_promtool_reads_the_rules(promtool: Path, rule_file: Path) -> None:
    done = tools.run(promtool, "check", "rules", "--lint=all", "--lint-fatal", rule_file)
    assert done.returncode == 0, done.stdout + done.stderr


def alerts() -> list[str]:
    return [rule["alert"] for group in _RULES["groups"] for rule in group["rules"]]


def fires(promtool: Path, rule_file: Path, series: dict[str, str], expected: dict[str, Any]) -> None:
    """After an hour of these series, one sample a minute: these alerts with these labels, and no other."""
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {
                "eval_time": "59m",
                "alertname": name,
                "exp_alerts": [expected[name]] if name in expected else [],
            }
            for name in alerts()
        ],
    }
    file = rule_file.with_name("test.yml")
    file.write_text(yaml.safe_dump({"rule_files": [str(rule_file)], "tests": [test]}))
    done = tools.run(promtool, "test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def series(changed: dict[str, tuple[str, str]]) -> dict[str, str]:
    found = {}
    for name, (labels, values) in {**_HEALTHY, **changed}.items():
        metric = name.partition(" ")[0]  # a word behind it makes a second series of the same metric
        if values:
            found[f"{metric}{{{', '.join(filter(None, [_POD, labels]))}}}"] = values
    return found


def rule(name: str) -> Any:
    return next(rule for group in _RULES["groups"] for rule in group["rules"] if rule["alert"] == name)


def test_no_alert_while_all_is_well(promtool: Path, rule_file: Path) -> None:
    fires(promtool, rule_file, series({}), {})


def test_no_alert_in_the_shadow(promtool: Path, rule_file: Path) -> None:
    requests = {"tradewind_requests_total": ('verb="filter", outcome="shadow"', "0+600x60")}
    fires(promtool, rule_file, series(requests), {})


@pytest.mark.parametrize(
    ("alert", "changed", "labels", "value"),
    [
        ("TradewindDown", dict.fromkeys(_HEALTHY, ("", "")), {}, ""),
        ("TradewindConfigurationRefused", {"tradewind_config_ok": ("", "0x60")}, {"pod": "tradewind-0"}, ""),
        (
            # 15% estimated and 10% unknown: a quarter has no price.
            "TradewindPriceCoverageLow",
            {
                "tradewind_market_coverage_ratio": ('quantity="price", source="estimated"', "0.15x60"),
                "tradewind_market_coverage_ratio too": ('quantity="price", source="unknown"', "0.1x60"),
            },
            {},
            "25%",
        ),
        ("TradewindHeldPodsGrowing", {"tradewind_held_pods": ("", "0+2x60")}, {}, "118"),
        ("TradewindNoPlannerLeads", {"tradewind_planner_leading": ("", "0x60")}, {}, ""),
        (
            # 12 of 612 a minute.
            "TradewindRequestsFailing",
            {"tradewind_requests_total too": ('verb="filter", outcome="failed"', "0+12x60")},
            {"verb": "filter"},
            "1.961%",
        ),
        ("TradewindSolverFailing", {"tradewind_solver_failures_total": ("", "0+1x60")}, {}, ""),
        (
            "TradewindStateStale",
            {"tradewind_cluster_age_seconds": ('resource="pods"', "0+60x60")},
            {"pod": "tradewind-0", "resource": "pods"},
            "",
        ),
    ],
)
def test_alert_fires(
    promtool: Path,
    rule_file: Path,
    *,
    alert: str,
    changed: dict[str, tuple[str, str]],
    labels: dict[str, str],
    value: str,
) -> None:
    namespace = {} if alert == "TradewindDown" else {"namespace": "tradewind-system"}
    said = rule(alert)
    texts = {
        name: expanded(text, {**namespace, **labels}, value) for name, text in said["annotations"].items()
    }
    expected = {"exp_labels": {**said["labels"], **namespace, **labels}, "exp_annotations": texts}
    fires(promtool, rule_file, series(changed), {alert: expected})


def expanded(text: str, labels: dict[str, str], value: str) -> str:
    text = re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels[found[1]], text)
    return re.sub(r"{{ \$value.*? }}", value, text)


def test_every_alert_has_a_test() -> None:
    (mark,) = (mark for mark in test_alert_fires.pytestmark if mark.name == "parametrize")  # type: ignore[attr-defined]
    assert [case[0] for case in mark.args[1]] == alerts()


def test_every_alert_has_a_runbook() -> None:
    assert list(_RUNBOOKS) == alerts()
    for name, text in _RUNBOOKS.items():
        assert rule(name)["annotations"]["runbook"] == f"docs/runbooks.md#{name.lower()}"
        parts = re.findall(r"^\*\*(.+?)\.\*\*", text, re.MULTILINE)
        assert parts == ["Meaning", "Impact", "Diagnosis", "Mitigation", "Last resort"], name


@pytest.mark.parametrize("name", _RUNBOOKS)
def test_runbooks_look_at_metrics_that_there_are(name: str) -> None:
    assert set(re.findall(r"\btradewind_\w+", _RUNBOOKS[name])) - metrics() == set()


def queries() -> Iterator[tuple[str, str]]:
    for panel in _DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for group in _RULES["groups"]:
        for each in group["rules"]:
            yield each["alert"], each["expr"]


def metrics() -> set[str]:
    """Of extender and planner together."""
    registry = CollectorRegistry()
    for kind in (MarketMetrics, ConfigMetrics, ExtenderMetrics, PlanMetrics):
        kind(registry)
    ClusterMetrics(registry, [])
    families = [family.name for family in registry.collect()]
    return {"tradewind_build_info"} | {
        f"{name}{suffix}" for name in families for suffix in ("", "_total", "_bucket")
    }


@pytest.mark.parametrize(("title", "query"), list(queries()))
def test_queries_are_about_metrics_that_there_are(title: str, query: str) -> None:
    named = set(re.findall(r"\btradewind_\w+", query))
    assert named, title
    assert named - metrics() == set()


def test_the_pods_are_scraped_at_a_port_that_they_have() -> None:
    spec = read(_MONITORING / "pod-monitor.yaml")["spec"]
    (endpoint,) = spec["podMetricsEndpoints"]
    (expression,) = spec["selector"]["matchExpressions"]
    scraped = {
        name
        for name, template in templates().items()
        if template["metadata"]["labels"].get(expression["key"]) in expression["values"]
    }
    assert scraped == {"tradewind", "tradewind-planner"}
    for name in scraped:
        (container,) = templates()[name]["spec"]["containers"]
        assert endpoint["port"] in {port["name"] for port in container["ports"]}


def test_panels_have_ids_titles_and_places_of_their_own() -> None:
    panels = _DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)
