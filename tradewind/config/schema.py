"""The JSON schema of the configuration, made from the classes that read it."""

from typing import Any

from pydantic import TypeAdapter

from scoring.registry import FILTERS, SCORERS
from tradewind.config.document import WEIGHTS, Document


def schema() -> dict[str, Any]:
    whole = Document.model_json_schema(by_alias=True)
    layers = [whole, whole["$defs"]["WorkloadClass"]]
    weight = layers[0]["properties"]["weights"]["additionalProperties"]
    for layer in layers:
        layer["properties"]["weights"] |= _closed(_weights(weight))
        layer["properties"]["rules"] |= _closed(_rules())
    return {**whole, "title": "TradewindConfiguration"}


def _weights(weight: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(WEIGHTS, weight)


def _rules() -> dict[str, Any]:
    """A rule that is filter and scorer has one set of parameters; the switch is the filter's."""
    found: dict[str, dict[str, Any]] = {}
    for entry in SCORERS:
        found[entry.scorer.name] = _parameters(entry.scorer)
    for rule in FILTERS:
        switch = {"enabled": {"type": "boolean", "default": True}}
        found[rule.name] = {**found.get(rule.name, {}), **_parameters(rule), **switch}
    return {name: {"type": "object", **_closed(parameters)} for name, parameters in found.items()}


def _parameters(rule: type) -> dict[str, Any]:
    properties: dict[str, Any] = TypeAdapter(rule).json_schema().get("properties", {})
    return properties


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"properties": properties, "additionalProperties": False}
