"""What the guide shows must work as it stands there."""

import re
from pathlib import Path

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tradewind.config import document as config
from tradewind.market.metrics import MarketMetrics
from tradewind.market.rows import csv_rows

_ROOT = Path(__file__).parents[2]
_GUIDE = (_ROOT / "docs" / "market.md").read_text()


def shown(language: str) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", _GUIDE, re.DOTALL)[0])


def test_the_configuration_is_accepted_and_shows_the_defaults() -> None:
    market = config.parse(shown("yaml")).market
    plain = config.parse(
        "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
        "market: {prometheus: {url: 'https://prometheus.monitoring:9090'}}"
    ).market
    assert market.model_copy(update={"table": None, "discounts": (), "prometheus": None}) == plain.model_copy(
        update={"prometheus": None}
    )
    unset = {"ca_file": None, "bearer_token_file": None}
    assert market.prometheus is not None
    assert market.prometheus.model_copy(update=unset) == plain.prometheus


def test_the_table_is_accepted() -> None:
    assert len(csv_rows(shown("csv"))) == 3


def test_the_metrics_exist() -> None:
    exposed = generate_latest(MarketMetrics().registry).decode()
    known = {family.name for family in text_string_to_metric_families(exposed)}
    named = {name.removesuffix("_total") for name in re.findall(r"`(tradewind_\w+)", _GUIDE)}
    assert len(named) >= 8
    assert named <= known


def test_the_component_exists() -> None:
    assert (_ROOT / "manifests" / "components" / "market" / "kustomization.yaml").exists()
