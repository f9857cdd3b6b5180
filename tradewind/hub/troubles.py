"""Which replicas have to go elsewhere: their site is gone, or it has had no node for them for a while.

A site that falls silent is Karmada's to evict from, by the taints and tolerations of clusters. Copies that
each site gets stay.

Time is given by the caller; what is seen for the first time is remembered from then on.
"""

from collections.abc import Iterable, Mapping

from tradewind.fleet.settings import FleetSettings
from tradewind.fleet.sites import Sites
from tradewind.hub.records import Binding


class Troubles:
    def __init__(self) -> None:
        self._unplaced: dict[tuple[str, str], float] = {}  # binding and site, since when pods wait there
        self._excluded: dict[tuple[str, str], float] = {}  # binding and site, until when

    def look(
        self, bindings: Iterable[Binding], sites: Sites, settings: FleetSettings, now: float
    ) -> set[str]:
        """The bindings that need a new decision."""
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
                if replicas and site not in sites.row_of:
                    due.add(binding.key)
        self._excluded = {key: until for key, until in self._excluded.items() if until > now}
        return due

    def stays(self, binding: Binding, sites: Sites) -> Mapping[str, int]:
        """The replicas that count as being where they are."""
        kept = {}
        for site, replicas in binding.current.items():
            if site not in sites.row_of:
                continue
            unplaced = self._waiting(binding, site, sites) if (binding.key, site) in self._excluded else 0
            if replicas - unplaced > 0 or not binding.workload:
                kept[site] = replicas - unplaced
        return kept

    def excluded(self, key: str) -> frozenset[str]:
        return frozenset(site for binding, site in self._excluded if binding == key)

    @staticmethod
    def _waiting(binding: Binding, site: str, sites: Sites) -> int:
        record = sites.site(site)
        if record is None or record.summary is None or binding.placement.division == "Duplicated":
            return 0
        return binding.unplaced(site, record.summary.waiting.get(binding.workload_name, 0))
