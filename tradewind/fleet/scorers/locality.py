from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.fleet.candidates import Candidates
from tradewind.fleet.request import Point
from tradewind.fleet.sites import Floats

EARTH_RADIUS_KM = 6371.0


@dataclass(frozen=True)
class Locality:
    """Favours sites near the users or the data: n / (n + d), d the great-circle distance.

    n is `near_km`, where the score is 1/2. A request that names no point, and a site without coordinates,
    get 1/2.
    """

    name: ClassVar[str] = "locality"

    near_km: float = 1000.0

    def score(self, candidates: Candidates) -> Floats:
        near = candidates.request.near
        if near is None:
            return np.full(len(candidates), 0.5)
        sites = candidates.sites
        distance = great_circle_km(
            near, candidates.column(sites.latitude), candidates.column(sites.longitude)
        )
        score = self.near_km / (self.near_km + distance)
        return np.where(np.isnan(score), 0.5, score)


def great_circle_km(point: Point, latitudes: Floats, longitudes: Floats) -> Floats:
    """By the haversine formula, which stays exact for short distances."""
    latitude, longitude = np.radians(point)
    to_latitudes, to_longitudes = np.radians(latitudes), np.radians(longitudes)
    chord = np.sin((to_latitudes - latitude) / 2) ** 2
    chord += np.cos(latitude) * np.cos(to_latitudes) * np.sin((to_longitudes - longitude) / 2) ** 2
    distance: Floats = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(chord, 0, 1)))
    return distance
