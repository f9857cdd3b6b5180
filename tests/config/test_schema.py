"""The JSON schema says of documents what the configuration says of them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tradewind.config.document import parse
from tradewind.config.schema import schema
from tradewind.errors import ConfigurationError

_HEAD = "apiVersion: tradewind.dev/v1alpha1\nkind: TradewindConfiguration\n"
_SHIPPED = Path(__file__).parents[2] / "manifests" / "base" / "tradewind.yaml"
_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def wrong(value: Any, rules: dict[str, Any], whole: dict[str, Any], path: str = "") -> list[str]:
    """As much of JSON schema as ours uses."""
    if "$ref" in rules:
        return wrong(value, whole["$defs"][rules["$ref"].rpartition("/")[2]], whole, path)
    if "anyOf" in rules:
        return min((wrong(value, each, whole, path) for each in rules["anyOf"]), key=len)
    found = []
    kind = rules.get("type")
    if kind and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return [f"{path}: not {kind}"]
    if value not in rules.get("enum", [value]) or value != rules.get("const", value):
        found.append(f"{path}: {value}")
    if isinstance(value, int | float):
        low, high = rules.get("minimum", value), rules.get("maximum", value)
        if not low <= value <= high or value <= rules.get("exclusiveMinimum", value - 1):
            found.append(f"{path}: {value}")
    return found + below(value, rules, whole, path)


def below(value: Any, rules: dict[str, Any], whole: dict[str, Any], path: str) -> list[str]:
    found: list[str] = []
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += wrong(each, rules.get("items", {}), whole, f"{path}.{index}")
    if isinstance(value, dict):
        found += [f"{path}.{key}: missing" for key in rules.get("required", []) if key not in value]
        for key, each in value.items():
            rule = rules.get("properties", {}).get(key, rules.get("additionalProperties", {}))
            found += (
                [f"{path}.{key}: unknown"] if rule is False else wrong(each, rule, whole, f"{path}.{key}")
            )
    return found


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(_SHIPPED.read_text(), id="shipped"),
        pytest.param(_HEAD, id="empty"),
        pytest.param(_HEAD + "weights: {delta: 1}", id="a letter"),
        pytest.param(_HEAD + "planner: {holdSeconds: 5, pools: [{name: a, resources: {cpu: 4}, price: 1}]}"),
        pytest.param(_HEAD + "classes: [{name: a, match: {minPriority: 5}, preset: cost}]", id="a class"),
        pytest.param(_HEAD + "rules: {resources: {enabled: false}}", id="a rule switched off"),
    ],
)
def test_what_is_accepted_suits_the_schema(text: str) -> None:
    parse(text)
    assert wrong(yaml.safe_load(text), schema(), schema()) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("kind: TradewindConfiguration", ".apiVersion", id="no version"),
        pytest.param(_HEAD + "wieghts: {}", ".wieghts", id="a key"),
        pytest.param(_HEAD + "weights: {prise: 1}", ".weights.prise", id="a weight"),
        pytest.param(_HEAD + "weights: {price: -1}", ".weights.price", id="a negative weight"),
        pytest.param(_HEAD + "rules: {taint: {}}", ".rules.taint", id="a rule"),
        pytest.param(_HEAD + "rules: {resources: {x: 1}}", ".rules.resources.x", id="a parameter"),
        pytest.param(_HEAD + "planner: {hold_secs: 1}", ".planner.hold_secs", id="a key of the planner"),
        pytest.param(_HEAD + "preset: cheap", ".preset", id="a preset"),
        pytest.param(
            _HEAD + "classes: [{name: a, weights: {x: 1}}]", ".classes.0.weights.x", id="in a class"
        ),
    ],
)
def test_what_is_refused_does_not(text: str, place: str) -> None:
    with pytest.raises(ConfigurationError):
        parse(text)
    assert any(place in each for each in wrong(yaml.safe_load(text), schema(), schema()))
