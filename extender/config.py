"""The TradewindConfiguration document: what it may hold, and the policy that comes of it.

A document is taken whole or refused whole, with the path and the reason of everything that is wrong with it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from cluster.errors import ConfigurationError
from scoring.policy import Policy
from scoring.registry import FILTERS, SCORERS
from scoring.rules import Filter, Scorer

_FILTERS = {rule.name: rule for rule in FILTERS}
_SCORERS = {entry.scorer.name: entry.scorer for entry in SCORERS}
_LETTERS = {entry.letter: entry.scorer.name for entry in SCORERS}
_DEFAULT_WEIGHTS = {entry.scorer.name: entry.weight for entry in SCORERS}

Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Parameters = dict[str, Any]
Rule = TypeVar("Rule", Filter, Scorer)


class Document(BaseModel):
    """One YAML document; every key has a default but the two that say what it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_version: Literal["tradewind.dev/v1alpha1"] = Field(alias="apiVersion")
    kind: Literal["TradewindConfiguration"]
    weights: dict[str, Weight] = Field(default={}, description="by the scorer's name or its letter")
    rules: dict[str, Parameters] = Field(
        default={}, description="by the rule's name; `enabled: false` for filters"
    )

    @field_validator("weights")
    @classmethod
    def _by_name(cls, weights: dict[str, float]) -> dict[str, float]:
        named: dict[str, float] = {}
        for key, weight in weights.items():
            name = _one_of(_LETTERS.get(key, key), [*_SCORERS, *_LETTERS])
            if name in named:
                raise ValueError(f'"{key}" gives the weight of "{name}" a second time')
            named[name] = weight
        return named

    @field_validator("rules")
    @classmethod
    def _buildable(cls, rules: dict[str, Parameters]) -> dict[str, Parameters]:
        for name, parameters in rules.items():
            if name in _FILTERS:
                _build(_FILTERS[name], {k: v for k, v in parameters.items() if k != "enabled"})
                if not isinstance(parameters.get("enabled", True), bool):
                    raise ValueError(f"{name}.enabled: neither true nor false")
            else:
                _build(_SCORERS[_one_of(name, [*_FILTERS, *_SCORERS])], parameters)
        return rules

    def policy(self) -> Policy:
        weights = _DEFAULT_WEIGHTS | self.weights
        return Policy(filters=tuple(self._filters()), scorers=tuple(self._scorers(weights)))

    def _filters(self) -> Iterator[Filter]:
        for name, rule in _FILTERS.items():
            parameters = dict(self.rules.get(name, {}))
            if parameters.pop("enabled", True):
                yield _build(rule, parameters)

    def _scorers(self, weights: Mapping[str, float]) -> Iterator[tuple[Scorer, float]]:
        for name, rule in _SCORERS.items():
            yield _build(rule, self.rules.get(name, {})), weights[name]


DEFAULT = Document(apiVersion="tradewind.dev/v1alpha1", kind="TradewindConfiguration")


def read(path: Path) -> Document:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ConfigurationError) as error:
        raise ConfigurationError(f"{path}: {error}") from error


def parse(text: str) -> Document:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"not YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigurationError("not a YAML mapping with apiVersion and kind")
    try:
        return Document.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_reasons(error))) from error


def _build(rule: type[Rule], parameters: Parameters) -> Rule:
    """The rule with these parameters; a ValueError names the parameter that is wrong."""
    allowed = [field.name for field in fields(rule)]  # type: ignore[arg-type]  # every rule is a dataclass
    for key in parameters:
        _one_of(key, allowed, where=rule.name)
    try:
        return TypeAdapter(rule).validate_python(parameters)
    except ValidationError as error:
        raise ValueError("; ".join(f"{rule.name}.{reason}" for reason in _reasons(error))) from error


def _one_of(key: str, allowed: Iterable[str], where: str = "") -> str:
    if key not in set(allowed):
        known = ", ".join(allowed) or "none"
        raise ValueError(f'unknown key "{key}"{f" of {where}" if where else ""}; known: {known}')
    return key


def _reasons(error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        path = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        shown = "" if isinstance(detail["input"], dict) else f" (got {detail['input']!r})"
        yield f"{path}: {message}{shown}" if path else f"{message}{shown}"
