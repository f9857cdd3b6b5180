"""Every rule there is. Adding one is a file, a test, and a line here."""

from typing import NamedTuple

from scoring.filters.disk_type import DiskType
from scoring.filters.durable_floor import DurableFloor
from scoring.filters.limits import Limits
from scoring.filters.network_type import NetworkType
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.filters.resources import Resources
from scoring.rules import Filter, Scorer
from scoring.scorers.equivalence import Equivalence
from scoring.scorers.price import Price
from scoring.scorers.resource_fit import ResourceFit
from scoring.scorers.stability import Stability
from scoring.scorers.workload_priority import WorkloadPriority


class WeightedScorer(NamedTuple):
    letter: str  # the other name of its weight
    scorer: type[Scorer]
    weight: float  # by default


FILTERS: tuple[type[Filter], ...] = (
    Resources,
    Limits,
    DiskType,
    NetworkType,
    PodAffinity,
    PodAntiAffinity,
    DurableFloor,
)

SCORERS: tuple[WeightedScorer, ...] = (
    WeightedScorer("alpha", ResourceFit, 1.0),
    WeightedScorer("beta", DiskType, 1.0),
    WeightedScorer("gamma", NetworkType, 1.0),
    WeightedScorer("delta", Price, 2.0),
    WeightedScorer("epsilon", Stability, 1.0),
    WeightedScorer("zeta", WorkloadPriority, 1.0),
    WeightedScorer("eta", Equivalence, 0.5),
)
