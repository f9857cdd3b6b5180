"""The fleet as its watches see it: members, summaries, ledgers, quotas and bindings, joined to a matrix."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tradewind.fleet.ledger import Ledger
from tradewind.fleet.sites import Site, Sites
from tradewind.hub import wire
from tradewind.hub.mirror import Mirror
from tradewind.hub.records import (
    FLEET_LABEL,
    Binding,
    Member,
    Quota,
    SiteNote,
    binding_of,
    member_of,
    note_of,
    quota_of,
)
from tradewind.kube.watch import Resource

_SKEW_SECONDS = 5.0  # between a site's clock and ours


class FleetState:
    """`wake` is called after each change, in the thread that brings it."""

    def __init__(
        self, namespace: str, wake: Callable[[], None] = lambda: None, promise_seconds: float = 300.0
    ) -> None:
        self.namespace = namespace
        self.members: Mirror[Member] = Mirror(wake)
        self.summaries: Mirror[SiteNote] = Mirror(wake)
        self.ledgers: Mirror[SiteNote] = Mirror(wake)
        self.quotas: Mirror[Quota] = Mirror(wake)
        self.bindings: Mirror[Binding] = Mirror(wake)
        self.sites = Sites()
        self.promise_seconds = promise_seconds
        self._settled: dict[
            tuple[str, str], float
        ] = {}  # since when a binding's replicas are all ready there

    def resources(self) -> tuple[Resource, ...]:
        """What has to be watched."""
        maps = f"/api/v1/namespaces/{self.namespace}/configmaps"

        def notes(mirror: Mirror[SiteNote], what: str) -> Resource:
            selection = {"label_selector": f"{FLEET_LABEL}={what}"}
            return mirror.resource(what, maps, wire.ConfigMapObject, note_of, selection)

        bindings = f"{wire.BINDINGS}/resourcebindings"
        return (
            self.members.resource("clusters", wire.CLUSTERS, wire.ClusterObject, member_of),
            notes(self.summaries, "summary"),
            notes(self.ledgers, "ledger"),
            self.quotas.resource("quotas", wire.QUOTAS, wire.QuotaObject, quota_of),
            self.bindings.resource("bindings", bindings, wire.BindingObject, binding_of),
        )

    def refresh(self, now: float) -> set[str]:
        """Bring the matrix up to date; gives the sites that have changed."""
        changed = self.members.take_changed()
        for mirror, prefix in ((self.summaries, "site-"), (self.ledgers, "ledger-")):
            for key in mirror.take_changed():
                changed.add(key.rpartition("/")[2].removeprefix(prefix))
        for name in sorted(changed):
            member = self.members.get(name)
            if member is None:
                self.sites.remove(name)
            else:
                self.sites.apply(self._joined(member, now))
        return changed

    def _joined(self, member: Member, now: float) -> Site:
        name = member.name
        note = self.summaries.get(f"{self.namespace}/site-{name}")
        if note is None:
            return replace(member.site, ledger=self.ledger(name, now))
        return replace(member.site, summary=note.summary, trouble=note.trouble, ledger=self.ledger(name, now))

    def ledger(self, site: str, now: float) -> Ledger:
        """Without promises that the summary shows already, or that have had their time."""
        note = self.ledgers.get(f"{self.namespace}/ledger-{site}")
        if note is None:
            return Ledger()
        ledger = note.ledger.since(now - self.promise_seconds)
        summary_note = self.summaries.get(f"{self.namespace}/site-{site}")
        seen = summary_note.summary.time if summary_note and summary_note.summary else 0.0
        kept = (each for each in ledger.promises if not self._shown(each.key, site, each.time, seen))
        return Ledger(tuple(kept))

    def _shown(self, key: str, site: str, promised: float, seen: float) -> bool:
        settled = self._settled.get((key, site))
        return settled is not None and settled >= promised and seen > settled + _SKEW_SECONDS

    def note_ready(self, binding: Binding, now: float) -> None:
        """Remember since when all replicas run at a site: a later summary counts them."""
        for site, replicas in binding.current.items():
            if replicas and binding.ready.get(site, 0) >= replicas:
                self._settled.setdefault((binding.promise_key, site), now)
            else:
                self._settled.pop((binding.promise_key, site), None)

    def forget(self, binding: Binding) -> None:
        for site in binding.current:
            self._settled.pop((binding.promise_key, site), None)

    def quota_left(self, tenant: str) -> Mapping[str, int] | None:
        """The least that any quota of the tenant leaves."""
        left: dict[str, int] = {}
        found = False
        for quota in self.quotas.all():
            if quota.namespace == tenant:
                found = True
                for resource, value in quota.left.items():
                    left[resource] = min(value, left.get(resource, value))
        return left if found else None
