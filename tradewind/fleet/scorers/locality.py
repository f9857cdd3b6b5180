from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.request import Near, Point
from tradewind.fleet.sites import Floats, Sites

EARTH_RADIUS_KM = 6371.0

Latencies = Mapping[str, Mapping[str, float]]  # milliseconds from a named place to a site, or to a region


@dataclass(frozen=True)
class Locality:
    """Favours sites near the users or the data: n / (n + d), d the latency to there, or else the distance.

    A request says where they are by the name of a row of the latency table, in which a site's own entry goes
    before its region's, or by a point, from which d is the great-circle distance. n, where the score is 1/2,
    is `near_ms` or `near_km`: about the same, by way of cables. What nobody knows gets 1/2: a request that
    names no place, a name or a site that the table does not have, a site without coordinates.
    """

    name: ClassVar[str] = "locality"

    near_km: float = 1000.0
    near_ms: float = 20.0
    latencies: Latencies = field(default_factory=dict)
    near: Near | None = None  # for requests that do not say

    def score(self, candidates: Candidates) -> Floats:
        near = self.near if candidates.request.near is None else candidates.request.near
        match near:
            case None:
                return np.full(len(candidates), 0.5)
            case str():
                known = self.latencies.get(near, {})
                score = self.near_ms / (self.near_ms + candidates.column(latency_ms(known, candidates.sites)))
            case _:
                distance = great_circle_km(
                    near,
                    candidates.column(candidates.sites.latitude),
                    candidates.column(candidates.sites.longitude),
                )
                score = self.near_km / (self.near_km + distance)
        return np.where(np.isnan(score), 0.5, score)


def latency_ms(known: Mapping[str, float], sites: Sites) -> Floats:
    """(rows,) of all sites; NaN where neither the site nor its region is known."""
    regions = [next(iter(dict(place).get("region", ())), "") for place in sites.places.values]
    by_place = np.array([known.get(region, np.nan) if region else np.nan for region in regions])
    latencies: Floats = by_place.take(sites.places.codes)
    for name in known.keys() & sites.row_of.keys():
        latencies[sites.row_of[name]] = known[name]
    return latencies


def great_circle_km(point: Point, latitudes: Floats, longitudes: Floats) -> Floats:
    """By the haversine formula, which stays exact for short distances."""
    latitude, longitude = np.radians(point)
    to_latitudes, to_longitudes = np.radians(latitudes), np.radians(longitudes)
    chord = np.sin((to_latitudes - latitude) / 2) ** 2
    chord += np.cos(latitude) * np.cos(to_latitudes) * np.sin((to_longitudes - longitude) / 2) ** 2
    distance: Floats = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
    return distance
