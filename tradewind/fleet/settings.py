"""The key `fleet` of the configuration: what a site is chosen by, and how long what is believed."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from tradewind.cluster.quantity import parse_nanos
from tradewind.errors import QuantityError, TradewindError
from tradewind.fleet.summary import DEFAULT_BEST, Place
from tradewind.fleet.weights import DEFAULT_WEIGHTS, check_names

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Latitude = Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)]
Longitude = Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern="^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, le=60_000, allow_inf_nan=False)]


def _known(weights: dict[str, float]) -> dict[str, float]:
    try:
        check_names(weights)
    except TradewindError as error:
        raise ValueError(str(error)) from error
    return weights


Weights = Annotated[dict[str, Weight], AfterValidator(_known)]


class _Settings(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class SiteSettings(_Settings):
    """What a member says of itself on the hub, beside what its nodes say."""

    name: str = Field(default="", description="of the Cluster on the hub")
    region: str = ""
    provider: str = ""
    latitude: Latitude | None = None
    longitude: Longitude | None = None
    watts_per_core: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    carbon: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="g CO2 a kWh")
    best_nodes: int = Field(default=DEFAULT_BEST, ge=1, le=50, description="listed for each resource")
    labels: tuple[str, ...] = Field(default=(), description="of nodes that are published, beside the usual")
    publish_seconds: Seconds = Field(default=5.0, description="between two summaries, at the least")
    heartbeat_seconds: Seconds = Field(default=30.0, description="between two summaries, at the most")

    def place(self) -> Place:
        return Place(
            region=self.region,
            provider=self.provider,
            latitude=self.latitude,
            longitude=self.longitude,
            watts_per_core=self.watts_per_core,
            carbon=self.carbon,
        )


class RequestClass(_Settings):
    """Requests that are alike: how sites are weighed for them, and for fleet-scores, what one asks for."""

    namespaces: frozenset[str] = Field(default=frozenset(), description="whose bindings belong to it")
    weights: Weights = Field(default={}, description="laid over those of the fleet")
    near: tuple[Latitude, Longitude] | Name | None = Field(
        default=None,
        description="where its users are, unless a binding says: a point, or a row of latencies",
    )
    requests: dict[str, str] = Field(default={}, description="of one replica, as in a pod, for fleet-scores")
    node_selector: dict[str, str] = Field(default={}, description="for fleet-scores")

    @field_validator("requests")
    @classmethod
    def _readable(cls, requests: dict[str, str]) -> dict[str, str]:
        for text in requests.values():
            try:
                parse_nanos(text)
            except QuantityError as error:
                raise ValueError(str(error)) from error
        return requests


class FleetSettings(_Settings):
    site: SiteSettings = SiteSettings()
    classes: dict[Name, RequestClass] = Field(default={}, description="of bindings, and to score sites for")
    weights: Weights = Field(default={}, description="by the site scorer's name")
    equivalence_resources: tuple[str, ...] = Field(
        default=("cpu", "memory"), min_length=2, max_length=8, description="for the scorer equivalence"
    )
    latencies: dict[Name, dict[str, Milliseconds]] = Field(
        default={}, description="from places of users or data, by name, to sites or regions"
    )
    summary_seconds: Seconds = Field(default=120.0, description="then a summary is too old")
    max_error_rate: float = Field(default=0.5, ge=0, le=1, description="of a site's bindings")
    promise_seconds: Seconds = Field(default=300.0, description="then a summary must show it")
    unplaced_seconds: Seconds = Field(default=60.0, description="replicas without a node, then they go")
    exclude_seconds: Seconds = Field(default=600.0, description="the site that could not place them")
    move_gain: float | None = Field(
        default=None, gt=0, le=1, description="of the score, that moves running replicas; unset: none move"
    )
    move_seconds: Seconds = Field(default=600.0, description="for which the gain must have lasted")
    forward_gap: float | None = Field(
        default=0.05, ge=0, le=1, description="of the score, up to which a scheduler prefers its own sites"
    )
    tenant_in_flight: int = Field(default=16, ge=1, le=10_000, description="requests of one namespace")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for name in ("", *self.classes):
            if not any(self.weights_of(name).values()):
                raise ValueError(f"{_of_class(name)}weights: all are 0; one must be above 0")
        for name, each in self.classes.items():
            if isinstance(each.near, str) and each.near not in self.latencies:
                raise ValueError(f'{_of_class(name)}near: latencies has no row "{each.near}"')
        return self

    def weights_of(self, request_class: str = "") -> dict[str, float]:
        own = self.classes[request_class].weights if request_class else {}
        return DEFAULT_WEIGHTS | self.weights | own


def _of_class(name: str) -> str:
    return f"classes.{name}." if name else ""
