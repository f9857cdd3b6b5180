"""One request of the fleet: so many replicas of a pod, and where they may go."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.cluster.objects import Pod
from tradewind.fleet.placement import Placement

Point = tuple[float, float]  # latitude and longitude, in degrees
Near = Point | str  # a str is the name of a row of the latency table


@dataclass(frozen=True, kw_only=True)
class Request:
    key: str  # of the binding, and of no other
    pod: Pod  # what one replica asks of a node
    replicas: int
    placement: Placement = field(default_factory=Placement)
    api: str = ""  # apps/v1/Deployment: a site that does not serve it cannot take it
    tenant: str = ""  # its namespace
    workload_class: str = ""  # that it names itself
    priority: int = 0
    current: Mapping[str, int] = field(default_factory=dict)  # replicas that sites have already
    fresh: bool = False  # asked for anew: what is there counts for nothing
    excluded: frozenset[str] = frozenset()  # sites that could not place it a while ago
    near: Near | None = None  # where its users or its data are
    quota: Mapping[str, int] | None = None  # what is left to the tenant, None without a quota

    @property
    def requests(self) -> Mapping[str, int]:
        return self.pod.requests
