"""Scores of sites for a class of requests: shares of the best score, for those where one replica fits."""

import pytest

from tests.builders import node
from tests.fleet.cases import NOW, nodes, site
from tradewind.config.document import parse
from tradewind.errors import ConfigurationError
from tradewind.fleet.class_scores import class_scores, request_of
from tradewind.fleet.policy import SitePolicy
from tradewind.fleet.sites import Sites
from tradewind.fleet.weights import DEFAULT_WEIGHTS

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_PRICE_ALONE = SitePolicy(weights=dict.fromkeys(DEFAULT_WEIGHTS, 0.0) | {"price": 2.0})


def test_the_cheaper_site_scores_higher_and_one_without_a_node_not_at_all() -> None:
    text = _HEAD + "fleet: {classes: {web: {requests: {cpu: 3500m, memory: 1Gi}}}}\n"
    asked = request_of("web", parse(text).fleet.classes["web"])
    small = site("small", *nodes(9, 0.1, cpu="2"))
    sites = Sites([site("cheap", *nodes(1, 0.1)), site("dear", *nodes(1, 0.3)), small])
    scores = class_scores(asked, sites, _PRICE_ALONE, NOW)
    assert scores == {"cheap": pytest.approx(0.2 / 0.3), "dear": pytest.approx(0.2 / 0.5)}


def test_a_class_may_select_nodes() -> None:
    text = _HEAD + "fleet: {classes: {arm: {nodeSelector: {kubernetes.io/arch: arm64}, near: [50, 8]}}}\n"
    asked = request_of("arm", parse(text).fleet.classes["arm"])
    sites = Sites([site("a", node("n").label("kubernetes.io/arch", "arm64")), site("b", node("m"))])
    assert class_scores(asked, sites, SitePolicy(), NOW).keys() == {"a"}
    assert class_scores(asked, Sites(), SitePolicy(), NOW) == {}


@pytest.mark.parametrize(
    "text",
    [
        "fleet: {classes: {Web: {}}}",
        "fleet: {classes: {web: {requests: {cpu: much}}}}",
        "fleet: {classes: {web: {near: [95, 0]}}}",
    ],
)
def test_what_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"fleet\.classes"):
        parse(_HEAD + text)
