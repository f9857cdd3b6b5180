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
    workload: bool = True  # it has pods; a ConfigMap has none
    placement: Placement = field(default_factory=Placement)
    api: str = ""  # apps/v1/Deployment: a site that does not serve it cannot take it
    tenant: str = ""  # its namespace
    workload_class: str = ""  # that it names itself
    priority: int = 0
    current: Mapping[str, int] = field(default_factory=dict)  # replicas that sites have already
    fresh: bool = False  # a full reschedule: replicas that run need not stay
    excluded: frozenset[str] = frozenset()  # sites that could not place it a while ago
    evicting: frozenset[str] = frozenset()  # sites with a graceful eviction task of the request
    beside: frozenset[str] | None = None  # sites that all workloads of its affinity group have; None: any
    apart: frozenset[str] = frozenset()  # sites that a workload of its anti-affinity group has
    affinity_name: str = ""  # of the cluster affinity that was used last
    near: Near | None = None  # where its users or its data are
    quota: Mapping[str, int] | None = None  # for all replicas of the request, None without a quota
    held: int = 0  # replicas that count against the quota already

    @property
    def places(self) -> list[str]:
        """Sites that have it."""
        return [name for name, count in self.current.items() if count > 0 or not self.workload]

    @property
    def everywhere(self) -> bool:
        """Each site that matches gets a copy: duplicated workloads, and objects without replicas."""
        return not self.workload or self.placement.division == "Duplicated"

    @property
    def requests(self) -> Mapping[str, int]:
        return self.pod.requests
