"""The TradewindConfiguration document: what it may hold, and the policies that come of it.

A document is taken whole or refused whole, with the path and the reason of everything that is wrong with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
)

from scoring.policy import PREFERENCES, Placement, Policy
from scoring.registry import FILTERS, SCORERS
from scoring.rules import Filter, Scorer
from scoring.scorers.guide import GuideScore
from scoring.scorers.history import History
from scoring.scorers.resource_fit import ResourceFit
from tradewind.config import strict_yaml
from tradewind.config.classes import Match, Policies
from tradewind.errors import ConfigurationError
from tradewind.fleet.settings import FleetSettings
from tradewind.market.settings import MarketSettings
from tradewind.planner.settings import PlannerSettings

PRESETS = Path(__file__).parent / "presets"

_FILTERS = {rule.name: rule for rule in FILTERS}
_SCORERS = {entry.scorer.name: entry.scorer for entry in SCORERS}
_PREFERENCES = "preferences"  # no scorer: kube-scheduler scores these itself
_DEFAULT_WEIGHTS = {entry.scorer.name: entry.weight for entry in SCORERS} | {_PREFERENCES: PREFERENCES}
_LETTERS = {entry.letter: entry.scorer.name for entry in SCORERS} | {"kappa": _PREFERENCES}
WEIGHTS = (*_DEFAULT_WEIGHTS, *_LETTERS)

Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Parameters = dict[str, Any]
Rule = TypeVar("Rule", Filter, Scorer)


class Layer(BaseModel):
    """Weights and rules' parameters, over those of a preset, over those of the layer below."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    preset: Literal["cost", "balanced", "availability"] | None = None
    weights: dict[str, Weight] = Field(default={}, description="by the scorer's name or its letter")
    rules: dict[str, Parameters] = Field(
        default={}, description="by the rule's name; `enabled: false` for filters"
    )

    placement: Placement | None = Field(
        default=None,
        description="pack: the cheapest nodes; spread: all nodes to the same share, freest first",
    )

    @field_validator("weights")
    @classmethod
    def _by_name(cls, weights: dict[str, float]) -> dict[str, float]:
        named: dict[str, float] = {}
        for key, weight in weights.items():
            name = _one_of(_LETTERS.get(key, key), WEIGHTS)
            if name in named:
                raise ValueError(f'"{key}" gives the weight of "{name}" a second time')
            named[name] = weight
        return named

    @field_validator("rules")
    @classmethod
    def _buildable(cls, rules: dict[str, Parameters]) -> dict[str, Parameters]:
        for name, parameters in rules.items():
            _one_of(name, dict.fromkeys([*_FILTERS, *_SCORERS]))
            if name in _FILTERS:
                _filter(name, parameters)
            else:
                _build(_SCORERS[name], parameters)
        return rules


class WorkloadClass(Layer):
    name: str = Field(min_length=1)
    match: Match | None = Field(default=None, description="without it, pods join by annotation only")


class Document(Layer):
    """One YAML document; every key has a default but the two that say what it is."""

    api_version: Literal["tradewind.dev/v1alpha1"] = Field(alias="apiVersion")
    kind: Literal["TradewindConfiguration"]
    stale_seconds: int = Field(default=60, ge=6, alias="staleSeconds", description="then the verbs fail open")
    shadow: bool = Field(default=False, description="record what Tradewind would have done, and do nothing")
    recheck: bool = Field(
        default=False,
        description="check requests and inter-pod affinity again, for a kube-scheduler without these plugins",
    )
    extender_weight: int = Field(
        default=10,
        ge=1,
        le=1_000_000,
        alias="extenderWeight",
        description="as in kube-scheduler's configuration, which the shadow cannot see",
    )
    classes: tuple[WorkloadClass, ...] = ()
    market: MarketSettings = MarketSettings()
    planner: PlannerSettings = PlannerSettings()
    fleet: FleetSettings = FleetSettings()

    @field_validator("classes")
    @classmethod
    def _distinct(cls, classes: tuple[WorkloadClass, ...]) -> tuple[WorkloadClass, ...]:
        names = [each.name for each in classes]
        twice = next((name for name in names if names.count(name) > 1 or name == "default"), None)
        if twice is not None:
            raise ValueError(f'"{twice}" is the name of another class already')
        return classes

    def policies(self) -> Policies:
        return Policies(
            default=_policy("default", [self]),
            classes=tuple((each.match, _policy(each.name, [self, each])) for each in self.classes),
        )


# What filters and scores pods, and names neither files nor servers.
SCORING_KEYS = (*Layer.model_fields, "classes")
_HEAD = ("api_version", "kind")
DEFAULT = Document(apiVersion="tradewind.dev/v1alpha1", kind="TradewindConfiguration")


def read(path: Path) -> Document:
    try:
        document = parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ConfigurationError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    if document.market.table is None:
        return document
    beside = Path() if path == Path("/dev/stdin") else path.parent
    market = document.market.model_copy(update={"table": beside / document.market.table})
    return document.model_copy(update={"market": market})


def parse(text: str) -> Document:
    return _validated(load(text))


def with_scoring(document: Document, keys: Mapping[str, Any]) -> Document:
    """The document with these of SCORING_KEYS in place of its own."""
    data = document.model_dump(by_alias=True, exclude_unset=True, include={*SCORING_KEYS, *_HEAD})
    changed = _validated({**data, **keys})
    return document.model_copy(update={key: getattr(changed, key) for key in SCORING_KEYS})


def load(text: str) -> dict[str, Any]:
    """Its keys, whatever they are; raise ConfigurationError for what is no mapping."""
    try:
        data = strict_yaml.load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError(f"not YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigurationError("not a YAML mapping with apiVersion and kind")
    return data


def _validated(data: Mapping[str, Any]) -> Document:
    try:
        document = Document.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_reasons(error))) from error
    for policy in document.policies().all():
        # These alone rank nothing: there is no guide before the first standing plan, and no history at first.
        if not any(weight for rule, weight in policy.scorers if not isinstance(rule, GuideScore | History)):
            raise ConfigurationError(
                f'weights: all are 0 in class "{policy.workload_class}"; one must be above 0'
            )
    return document


@cache
def preset(name: str) -> Layer:
    return Layer.model_validate(yaml.safe_load((PRESETS / f"{name}.yaml").read_text(encoding="utf-8")))


def _policy(workload_class: str, layers: Sequence[Layer]) -> Policy:
    weights = dict(_DEFAULT_WEIGHTS)
    rules: dict[str, Parameters] = {}
    placement: Placement = "pack"
    for layer in layers:
        placement = layer.placement or placement
        for each in (preset(layer.preset), layer) if layer.preset else (layer,):
            weights |= each.weights
            for name, parameters in each.rules.items():
                rules[name] = rules.get(name, {}) | parameters
    if placement == "spread":
        # Its literal formula favours the node with the most room.
        rules[ResourceFit.name] = {"formula": "literal"} | rules.get(ResourceFit.name, {})
        # The standing plan fills nodes one after another.
        weights[GuideScore.name] = 0.0
    return Policy(
        filters=tuple(_filters(rules)),
        scorers=tuple((_build(rule, _shared(rules, name)), weights[name]) for name, rule in _SCORERS.items()),
        workload_class=workload_class,
        placement=placement,
        preferences=weights[_PREFERENCES],
    )


def _filters(rules: Mapping[str, Parameters]) -> Iterator[Filter]:
    for name in _FILTERS:
        rule = _filter(name, rules.get(name, {}))
        if rule is not None:
            yield rule


def _filter(name: str, parameters: Parameters) -> Filter | None:
    """The filter, or None where it is switched off."""
    enabled = parameters.get("enabled", True)
    if not isinstance(enabled, bool):
        raise ValueError(f"{name}.enabled: neither true nor false")  # noqa: TRY004  pydantic wants this one
    rule = _build(_FILTERS[name], {key: value for key, value in parameters.items() if key != "enabled"})
    return rule if enabled else None


def _shared(rules: Mapping[str, Parameters], name: str) -> Parameters:
    """A rule that is filter and scorer has one set of parameters; the switch is the filter's alone."""
    return {key: value for key, value in rules.get(name, {}).items() if key != "enabled"}


def _build(rule: type[Rule], parameters: Parameters) -> Rule:
    """The rule with these parameters; a ValueError names the parameter that is wrong."""
    allowed = [field.name for field in fields(rule)]  # type: ignore[arg-type]  # every rule is a dataclass
    for key in parameters:
        _one_of(key, allowed, where=rule.name)
    try:
        built: Rule = _adapter(rule).validate_python(parameters)
    except ValidationError as error:
        raise ValueError("; ".join(f"{rule.name}.{reason}" for reason in _reasons(error))) from error
    return built


@cache
def _adapter(rule: type) -> TypeAdapter[Any]:
    return TypeAdapter(rule)


def _one_of(key: str, allowed: Iterable[str], where: str = "") -> str:
    if key not in set(allowed):
        known = ", ".join(allowed) or "none"
        raise ValueError(f'unknown key "{key}"{f" of {where}" if where else ""}; known: {known}')
    return key


def _reasons(error: ValidationError) -> Iterator[str]:
    for detail in error.errors(include_url=False):
        path = ".".join(str(part) for part in detail["loc"])
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            message = "unknown key"
        shown = "" if isinstance(detail["input"], dict | list) else f" (got {_written(detail['input'])})"
        yield f"{path}: {message}{shown}" if path else f"{message}{shown}"


def _written(value: object) -> str:
    """As in the document: true, null, 'text'."""
    if isinstance(value, bool | None):
        return {None: "null", True: "true", False: "false"}[value]
    return f"'{value}'" if isinstance(value, str) else str(value)
