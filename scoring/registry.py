"""Every rule there is. Adding one is a file, a test, and a line here."""

from typing import NamedTuple

from scoring.filters.beside import Beside
from scoring.filters.conflicts import Conflicts
from scoring.filters.disk_type import DiskType
from scoring.filters.durable_floor import DurableFloor
from scoring.filters.gang import Gang
from scoring.filters.hinted_labels import HintedLabels
from scoring.filters.hinted_node import HintedNode
from scoring.filters.limits import Limits
from scoring.filters.max_per_zone import MaxPerZone
from scoring.filters.min_available import MinAvailable
from scoring.filters.network_type import NetworkType
from scoring.filters.one_per_node import OnePerNode
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.filters.replaces import Replaces
from scoring.filters.resources import Resources
from scoring.filters.xor import Xor
from scoring.rules import Filter, Scorer
from scoring.scorers.equivalence import Equivalence
from scoring.scorers.guide import GuideScore
from scoring.scorers.history import History
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
    MinAvailable,
    HintedNode,
    HintedLabels,
    Conflicts,
    OnePerNode,
    MaxPerZone,
    Beside,
    Replaces,
    Xor,
    Gang,
)

SCORERS: tuple[WeightedScorer, ...] = (
    WeightedScorer("alpha", ResourceFit, 1.0),
    WeightedScorer("beta", DiskType, 1.0),
    WeightedScorer("gamma", NetworkType, 1.0),
    WeightedScorer("delta", Price, 2.0),
    WeightedScorer("epsilon", Stability, 1.0),
    WeightedScorer("zeta", WorkloadPriority, 1.0),
    WeightedScorer("eta", Equivalence, 0.5),
    WeightedScorer("theta", GuideScore, 3.0),
    WeightedScorer("iota", History, 0.0),
)
