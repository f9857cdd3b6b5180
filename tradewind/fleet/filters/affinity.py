from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tradewind.cluster.selectors import holds, selector_of
from tradewind.cluster.wire import Requirement
from tradewind.fleet.candidates import Candidates
from tradewind.fleet.placement import ClusterAffinity
from tradewind.fleet.sites import Mask


@dataclass(frozen=True)
class Affinity:
    """The placement's cluster affinity accepts the site: by name, labels, provider, region and zones."""

    name: ClassVar[str] = "affinity"
    reason: ClassVar[str] = "didn't match the placement's cluster affinity"
    keeps: ClassVar[bool] = False
    of_pods: ClassVar[bool] = False

    affinity: ClusterAffinity = field(default_factory=ClusterAffinity)

    def feasible(self, candidates: Candidates) -> Mask:
        return matching(self.affinity, candidates)


def matching(affinity: ClusterAffinity, candidates: Candidates) -> Mask:
    sites = candidates.sites
    mask = np.ones(len(sites.records), np.bool_)
    if affinity.cluster_names:
        mask[:] = False
        mask[[sites.row_of[name] for name in affinity.cluster_names if name in sites.row_of]] = True
    mask[[sites.row_of[name] for name in affinity.exclude or () if name in sites.row_of]] = False
    if affinity.label_selector is not None:
        mask &= sites.table.satisfying(selector_of(affinity.label_selector) or ())
    mask = mask.take(candidates.rows)
    fields = (affinity.field_selector.match_expressions if affinity.field_selector else None) or ()
    if fields:
        places = sites.places
        verdicts = np.array([_fields_hold(fields, dict(place)) for place in places.values], np.bool_)
        mask &= verdicts.take(places.codes.take(candidates.rows))
    return mask


def _fields_hold(fields: Sequence[Requirement], values: Mapping[str, tuple[str, ...]]) -> bool:
    """As Karmada: all zones of a site must be in a list of zones, and none in one of NotIn."""
    return all(all(holds(each, value) for value in values.get(each.key) or (None,)) for each in fields)
