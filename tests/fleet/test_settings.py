"""The key `fleet`: classes of bindings, the table of latencies, and what is refused."""

from pathlib import Path

import pytest

from tests.fleet.cases import NOW, nodes, request, site
from tradewind.config.document import parse, read
from tradewind.errors import ConfigurationError
from tradewind.fleet.decision import decide
from tradewind.fleet.policy import SCORERS, site_policies
from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.fleet.summary import Place
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_NOTHING = dict.fromkeys(DEFAULT_WEIGHTS, 0)
_CLASSES = """
fleet:
  weights: {energy: 0}
  latencies:
    munich: {far: 90, close: 3}
  classes:
    web: {namespaces: [shop, cart], weights: {price: 0, locality: 5}, near: munich}
    batch: {namespaces: [shop, ml], weights: {price: 9}}
"""


def _settings(text: str) -> FleetSettings:
    return parse(_HEAD + text).fleet


@pytest.mark.parametrize(
    ("tenant", "named", "expected"),
    [
        pytest.param("cart", "", "web", id="by its namespace"),
        pytest.param("shop", "", "web", id="the first of two that take it"),
        pytest.param("shop", "batch", "batch", id="the one that it names, though another takes it"),
        pytest.param("shop", "luck", "web", id="a name that is none counts for nothing"),
        pytest.param("other", "", "", id="none, and the fleet's own weights"),
    ],
)
def test_a_request_belongs_to_a_class(tenant: str, named: str, expected: str) -> None:
    policies = site_policies(_settings(_CLASSES))
    assert policies.of(request(tenant=tenant, workload_class=named)).workload_class == expected


def test_the_weights_of_a_class_are_laid_over_those_of_the_fleet() -> None:
    policies = site_policies(_settings(_CLASSES))
    fleet = DEFAULT_WEIGHTS | {"energy": 0.0}
    assert policies.default.weights == fleet
    assert policies.of(request(tenant="cart")).weights == fleet | {"price": 0.0, "locality": 5.0}
    assert policies.of(request(tenant="ml")).weights == fleet | {"price": 9.0}


def test_every_scorer_has_a_weight_by_its_name() -> None:
    assert [scorer.name for scorer in SCORERS] == [*DEFAULT_WEIGHTS]


def test_classes_go_to_different_sites() -> None:
    """The cheap site is far from Munich: web goes to the close one, batch and all others to the cheap one."""
    sites = Sites([site("far", *nodes(2, 0.1), place=Place()), site("close", *nodes(2, 0.9), place=Place())])
    policies = site_policies(_settings(_CLASSES))
    asked = {name: request(2, tenant=name) for name in ("cart", "ml", "other")}
    placed = {name: decide(each, sites, policies.of(each), NOW).division for name, each in asked.items()}
    assert placed == {"cart": {"close": 2}, "ml": {"far": 2}, "other": {"far": 2}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fleet: {weights: {luck: 1}}", 'fleet.weights: no scorer of sites is called "luck"'),
        ("fleet: {classes: {web: {weights: {luck: 1}}}}", 'fleet.classes.web.weights: no scorer .* "luck"'),
        ("fleet: {classes: {web: {weights: {price: -1}}}}", "fleet.classes.web.weights.price"),
        ("fleet: {classes: {web: {near: munich}}}", 'fleet: classes.web.near: latencies has no row "munich"'),
        ("fleet: {latencies: {munich: {a: -1}}}", "fleet.latencies.munich.a"),
        ("fleet: {latencies: {munich: {a: fast}}}", "fleet.latencies.munich.a"),
        ('fleet: {latencies: {"48.1,11.6": {a: 1}}}', "fleet.latencies.48.1,11.6"),
        (f"fleet: {{classes: {{web: {{weights: {_NOTHING}}}}}}}", "fleet: classes.web.weights: all are 0"),
        (f"fleet: {{weights: {_NOTHING}}}", "fleet: weights: all are 0"),
    ],
)
def test_what_is_wrong_is_refused_with_file_and_place(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "tradewind.yaml"
    file.write_text(_HEAD + text)
    with pytest.raises(ConfigurationError, match=says) as refused:
        read(file)
    assert str(file) in str(refused.value)
