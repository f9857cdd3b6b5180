"""What people write into the form as another configuration."""

import re

import pytest

from tradewind.config.document import DEFAULT, Document, parse
from tradewind.errors import ConfigurationError
from tradewind.savings.configuration import read_configuration

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_IN_FORCE = parse(
    _HEAD + "preset: cost\nweights: {price: 7}\nextenderWeight: 33\n"
    "classes: [{name: nightly, match: {priorityClasses: [batch]}, preset: cost}]\n"
)


def test_nothing_written_is_no_other_configuration() -> None:
    assert read_configuration(_IN_FORCE, {"preset": " ", "weights": "", "yaml": "\n"}) is None


def read(**written: str) -> Document:
    found = read_configuration(_IN_FORCE, written)
    assert found is not None
    return found


def test_a_key_that_is_written_replaces_that_of_the_one_in_force() -> None:
    found = read(preset="availability")
    assert (found.preset, found.weights, found.classes) == (
        "availability",
        _IN_FORCE.weights,
        _IN_FORCE.classes,
    )
    assert found.extender_weight == 33
    assert read(weights="stability=2; alpha=1").weights == {"stability": 2, "resource_fit": 1}
    assert read(yaml="classes: []").classes == ()
    assert read(yaml="rules: {durable_floor: {min: 1}}", preset="balanced").rules == {
        "durable_floor": {"min": 1}
    }


@pytest.mark.parametrize(
    ("written", "said"),
    [
        pytest.param({"preset": "cheap"}, "preset: Input should be 'cost'", id="unknown preset"),
        pytest.param({"weights": "price"}, 'weights: "price" is not NAME=NUMBER', id="no number"),
        pytest.param({"weights": "prize=3"}, 'weights: unknown key "prize"; known: resource_fit', id="typo"),
        pytest.param({"weights": "price=-1"}, "weights.price: Input should be greater", id="negative"),
        pytest.param({"weights": "price=nan"}, "weights.price: Input should be", id="not finite"),
        pytest.param({"yaml": "preset: [cost"}, "YAML: not YAML", id="no YAML"),
        pytest.param({"yaml": "- cost"}, "YAML: not a YAML mapping", id="a list"),
        pytest.param({"yaml": "rules: {limit: {}}"}, 'rules: unknown key "limit"', id="unknown rule"),
        pytest.param({"yaml": "market: {table: /etc/passwd}"}, 'YAML: "market" cannot be', id="a file"),
        pytest.param({"yaml": "planner: {rent: 2}"}, 'YAML: "planner" cannot be', id="not scoring"),
        pytest.param({"yaml": "preset: cost", "preset": "cost"}, "preset: is in the YAML too", id="twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(written: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        read_configuration(DEFAULT, written)
