"""The key `planner` of the configuration: when a batch is closed, how long for, and who gets what of it."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from tradewind.cluster.objects import DEFAULT_SCHEDULER
from tradewind.cluster.quantity import amount, parse_nanos
from tradewind.cluster.wire import Taint
from tradewind.errors import QuantityError
from tradewind.planner.moves.causes import Cause
from tradewind.planner.rent import Rent

Engine = Literal["auto", "flow"]
"""Which solvers better the greedy placement: whatever suits the batch, or the plain min-cost flow."""

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class _Settings(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    renamed: ClassVar[
        Mapping[str, str]
    ] = {}  # keys of the version before, which are read for one version more

    @model_validator(mode="before")
    @classmethod
    def _read_renamed(cls, document: object) -> object:
        if not isinstance(document, Mapping):
            return document
        twice = next((old for old, new in cls.renamed.items() if {old, new} <= document.keys()), None)
        if twice is not None:
            raise ValueError(f'"{twice}" is the old name of "{cls.renamed[twice]}": leave it out')
        return {cls.renamed.get(key, key): value for key, value in document.items()}


class BatchSettings(_Settings):
    """A batch is closed by whichever comes first."""

    renamed: ClassVar[Mapping[str, str]] = {"events": "pods", "mostPods": "maxPods"}

    pods: int = Field(default=30, ge=1, le=1_000_000, description="that come within waitSeconds are a burst")
    seconds: Seconds = Field(default=10.0, description="while earlier plans are being written")
    pause_seconds: Seconds = Field(default=0.1, description="without a new pod")
    wait_seconds: Seconds = Field(default=0.15, description="where pods come one by one")
    burst_seconds: Seconds = Field(default=0.3, description="while a burst goes on")
    owed_seconds: Seconds = Field(default=1.0, description="after the newest pod of one that owes more")
    max_pods: int = Field(default=5_000, ge=1, le=1_000_000, description="the rest is in the next batch")


class PoolTaint(_Settings):
    key: str = Field(min_length=1)
    value: str = ""
    effect: str = "NoSchedule"

    def taint(self) -> Taint:
        return Taint(self.key, self.value, self.effect)


def _quantities(resources: dict[str, str | int | float]) -> dict[str, str | int | float]:
    for resource, quantity in resources.items():
        try:
            amount(resource, parse_nanos(str(quantity)))
        except QuantityError as error:
            raise ValueError(f"{resource}: {error}") from error
    return resources


class PoolTemplate(_Settings):
    """Nodes that do not exist yet, and that an autoscaler would add."""

    renamed: ClassVar[Mapping[str, str]] = {"most": "maxNodes"}

    name: str = Field(min_length=1)
    resources: Annotated[dict[str, str | int | float], AfterValidator(_quantities)] = Field(min_length=1)
    labels: dict[str, str] = {}
    taints: tuple[PoolTaint, ...] = ()
    price: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        allow_inf_nan=False,
        description="dollars an hour for one node; left out: that of nodes with these labels",
    )
    interruption_rate: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    durable: bool = True
    max_nodes: int = Field(default=10, ge=1, le=10_000, description="nodes that may be added")
    weight: int = Field(default=0, ge=0, le=10_000, description="pools of higher weight are filled first")

    def allocatable(self) -> dict[str, int]:
        return {
            resource: amount(resource, parse_nanos(str(quantity)))
            for resource, quantity in self.resources.items()
        }


class GangSettings(_Settings):
    on_loss: Literal["keep", "evict"] = Field(
        default="keep", description="what becomes of the rest when a member is lost; evict needs --evict"
    )


Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = get_args(Day)
Clock = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]


class MoveBudget(_Settings):
    """Evictions within any hour, whoever led."""

    evictions: int = Field(default=20, ge=0, le=100_000, description="an hour, of all pods")
    per_workload: int = Field(default=2, ge=0, le=100_000, description="an hour, of one workload")
    per_namespace: int = Field(default=10, ge=0, le=100_000, description="an hour, of one namespace")


class MoveWindow(_Settings):
    """When pods may be moved; past midnight where it ends before it starts."""

    days: tuple[Day, ...] = Field(default=DAYS, min_length=1, description="on which it starts")
    start: Clock = Field(description="HH:MM, UTC")
    end: Clock = Field(description="HH:MM, UTC")

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.start == self.end:
            raise ValueError("a window that ends when it starts; leave it out for any time")
        return self


class MoveSettings(_Settings):
    """Within which running pods are moved, for money or for safety."""

    mode: Literal["off", "advise", "act"] = Field(
        default="off", description="advise: say what would pay; act: evict, in held namespaces alone"
    )
    causes: tuple[Cause, ...] = Field(default=tuple(Cause), description="for which pods are moved")
    every_seconds: Seconds = Field(default=60.0, description="between two looks at the cluster")
    budget: MoveBudget = MoveBudget()
    windows: tuple[MoveWindow, ...] = Field(default=(), description="in which pods are moved; none: always")
    min_age_seconds: float = Field(
        default=600.0, ge=0, le=31_536_000, description="of a pod that is moved", allow_inf_nan=False
    )
    pod_cooldown_seconds: float = Field(
        default=3600.0, ge=0, le=31_536_000, description="of what was moved", allow_inf_nan=False
    )
    node_cooldown_seconds: float = Field(
        default=1800.0,
        ge=0,
        le=31_536_000,
        allow_inf_nan=False,
        description="of a node after its pods were moved, or that was given up",
    )
    move: tuple[Literal["job", "local-storage", "volume-claim", "single-replica"], ...] = Field(
        default=(), description="such pods too, which otherwise keep their nodes"
    )
    max_priority: int = Field(default=999, description="of pods that are moved to save money")
    min_dollars: float = Field(
        default=0.01,
        ge=0,
        le=1e6,
        allow_inf_nan=False,
        description="that emptying a node saves in the horizon",
    )
    horizon_hours: float = Field(
        default=1.0, gt=0, le=8760, allow_inf_nan=False, description="for which a node stays away"
    )
    min_balance: float = Field(
        default=0.5,
        ge=0,
        le=1000,
        allow_inf_nan=False,
        description="share of the bill that is saved, over the share of pods that are moved",
    )
    place_seconds: Seconds = Field(
        default=20.0, description="for each replacement to be on its node; then the set is given up"
    )

    @field_validator("mode", mode="before")
    @classmethod
    def _unquoted(cls, mode: object) -> object:
        """YAML reads a bare off as false."""
        return "off" if mode is False else mode


class StandingSettings(_Settings):
    enabled: bool = Field(default=True, description="false: no guide is made")
    seconds: float = Field(
        default=15.0, ge=1, le=3_600, description="between two solves; after three times that a guide is old"
    )


class PlannerSettings(_Settings):
    enabled: bool = Field(default=True, description="false: every pod that is held is ungated at once")
    schedulers: tuple[str, ...] = Field(
        default=(DEFAULT_SCHEDULER, "tradewind"), description="whose pods are planned without being held"
    )
    nominate: bool = Field(default=True, description="set nominatedNodeName: kube-scheduler tries it alone")
    batch: BatchSettings = BatchSettings()
    engine: Engine = Field(
        default="auto", description="flow: the plain min-cost flow instead of the solvers that cost least"
    )
    solve_seconds: Seconds = Field(default=2.0, description="beyond the greedy plan, at most")
    place_seconds: float = Field(
        default=4.0, ge=0, le=86_400, description="beyond that, at most, while a pod has no place"
    )
    plan_seconds: float = Field(default=60.0, gt=0, le=300, description="after which a plan no longer counts")
    hold_seconds: Seconds = Field(default=30.0, description="after which a pod without a place is ungated")
    tenant_share: float = Field(
        default=0.5, gt=0, le=1, description="of a batch for one namespace while others wait"
    )
    rent: float = Field(
        default=2.0,
        ge=0,
        le=100,
        description="of room that later pods may need, in shares of the node's price",
    )
    durable_rent: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="the same beside it for durable nodes, from pods that are not of high priority",
    )
    opening: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="of a node that later pods will share, in shares of its price",
    )
    opening_at_median: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="the part of the price of a node to be opened that counts as the median node's",
    )
    gangs: GangSettings = GangSettings()
    moves: MoveSettings = MoveSettings()
    standing: StandingSettings = StandingSettings()
    pools: tuple[PoolTemplate, ...] = ()

    @property
    def rents(self) -> Rent:
        return Rent(
            room=self.rent,
            durable=self.durable_rent,
            opening=self.opening,
            at_median=self.opening_at_median,
        )

    @field_validator("pools")
    @classmethod
    def _distinct(cls, pools: tuple[PoolTemplate, ...]) -> tuple[PoolTemplate, ...]:
        names = [pool.name for pool in pools]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f'"{twice}" is the name of another pool already')
        return pools
