"""Which replicas have to go elsewhere: their site is gone, or it has had no node for them for a while.

Time is given by the caller; what is seen for the first time is remembered from then on.
"""

from collections.abc import Iterable, Mapping

from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.hub.records import Binding


class Troubles:
    def __init__(self) -> None:
        self._silent: dict[str, float] = {}  # sites that are not ready, since when
        self._unplaced: dict[tuple[str, str], float] = {}  # binding and site, since when pods wait there
        self._excluded: dict[tuple[str, str], float] = {}  # binding and site, until when

    def look(
        self, bindings: Iterable[Binding], sites: Sites, settings: FleetSettings, now: float
    ) -> set[str]:
        """The bindings that need a new decision."""
        self._look_at_sites(sites, now)
        due = set()
        for binding in bindings:
            for site, replicas in binding.current.items():
                waiting = self._waiting(binding, site, sites)
                key = (binding.key, site)
                if waiting and key not in self._excluded:
                    since = self._unplaced.setdefault(key, now)
                    if now - since >= settings.unplaced_seconds:
                        self._excluded[key] = now + settings.exclude_seconds
                        due.add(binding.key)
                elif not waiting:
                    self._unplaced.pop(key, None)
                if replicas and self._lost(site, sites, settings, now):
                    due.add(binding.key)
        self._excluded = {key: until for key, until in self._excluded.items() if until > now}
        return due

    def stays(self, binding: Binding, sites: Sites, settings: FleetSettings, now: float) -> Mapping[str, int]:
        """The replicas that count as being where they are."""
        kept = {}
        for site, replicas in binding.current.items():
            if self._lost(site, sites, settings, now):
                continue
            unplaced = self._waiting(binding, site, sites) if (binding.key, site) in self._excluded else 0
            if replicas - unplaced > 0:
                kept[site] = replicas - unplaced
        return kept

    def excluded(self, key: str) -> frozenset[str]:
        return frozenset(site for binding, site in self._excluded if binding == key)

    def _look_at_sites(self, sites: Sites, now: float) -> None:
        rows = sites.rows[~sites.ready[sites.rows]].tolist()
        silent = [site.name for row in rows if (site := sites.records[row]) is not None]
        self._silent = {name: self._silent.get(name, now) for name in silent}

    def _lost(self, site: str, sites: Sites, settings: FleetSettings, now: float) -> bool:
        if site not in sites.row_of:
            return True
        silent = self._silent.get(site)
        return silent is not None and now - silent >= settings.failover_seconds

    @staticmethod
    def _waiting(binding: Binding, site: str, sites: Sites) -> int:
        record = sites.site(site)
        summary = record.summary if record else None
        return summary.waiting.get(binding.workload, 0) if summary else 0
