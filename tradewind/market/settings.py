"""The key `market` of the configuration: which sources there are, and what is assumed without them."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from tradewind.cluster.selectors import parse_selector

Rate = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Hours = Annotated[float, Field(gt=0, le=87_600, allow_inf_nan=False)]

# The median over the 877 instance types that AWS' Spot Advisor listed for us-east-1: 66 % saved.
SPOT_PRICE_RATIO = 0.34
# What a spot node of which nothing is known is taken for: the lowest bucket of AWS's Spot Advisor ends here.
SPOT_INTERRUPTION_RATE = 0.05
# On-demand nodes fail and are retired too. Small beside any spot node, yet never "safe".
ON_DEMAND_INTERRUPTION_RATE = 0.001
_WEEK_HOURS = 168.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# What Karpenter would pay for a node of an instance type, in a zone, on some terms.
KARPENTER_OFFERINGS = "karpenter_cloudprovider_instance_type_offering_price_estimate"


def _parsed(text: str) -> str:
    parse_selector(text)
    return text


def _web(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("not an address that starts with http:// or https://")
    return url.rstrip("/")


class _Settings(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class Priors(_Settings):
    """How likely a node is to be interrupted within a month when nothing else is known."""

    spot: Rate = SPOT_INTERRUPTION_RATE
    on_demand: Rate = ON_DEMAND_INTERRUPTION_RATE


class Discount(_Settings):
    """A factor on prices of the table, for committed use, savings plans and the like."""

    selector: Annotated[str, AfterValidator(_parsed)]  # of nodes' labels
    factor: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]


class PrometheusSettings(_Settings):
    url: Annotated[str, AfterValidator(_web)]
    price: str = Field(default="node_total_hourly_cost", min_length=1, description="query, dollars an hour")
    median_price: str | None = "quantile_over_time(0.5, node_total_hourly_cost[7d])"
    interruption_rate: str | None = Field(default=None, description="query, 0 to 1 within a month")
    offering_price: str | None = Field(
        default=KARPENTER_OFFERINGS,
        description="query of prices by the labels instance_type, zone and capacity_type",
    )
    node_labels: tuple[str, ...] = Field(default=("node", "instance"), min_length=1)
    interval_seconds: Seconds = 60.0
    timeout_seconds: Seconds = 10.0
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    bearer_token_file: Path | None = None

    @model_validator(mode="after")
    def _goes_together(self) -> "PrometheusSettings":
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("certFile and keyFile go together")
        address = urlsplit(self.url)
        if self.bearer_token_file and address.scheme != "https" and address.hostname not in LOOPBACK:
            raise ValueError("bearerTokenFile needs an https:// url: http:// would show the token to others")
        return self


class LearnedSettings(_Settings):
    half_life_hours: Hours = _WEEK_HOURS
    prior_node_hours: Hours = Field(
        default=_WEEK_HOURS, description="how much watching the table's rate is worth"
    )


class MarketSettings(_Settings):
    spot_price_ratio: float = Field(
        default=SPOT_PRICE_RATIO,
        gt=0,
        le=1,
        allow_inf_nan=False,
        description="spot to on-demand price, for estimates where no type is known on both terms",
    )
    plausible_factor: float | None = Field(
        default=3.0,
        gt=1,
        allow_inf_nan=False,
        description="a price this far from that of its peers or of the table is not used; null: any is",
    )
    table: Path | None = Field(default=None, description="CSV or YAML, beside the configuration if relative")
    discounts: tuple[Discount, ...] = ()
    priors: Priors = Priors()
    prometheus: PrometheusSettings | None = None
    learned: LearnedSettings = LearnedSettings()
