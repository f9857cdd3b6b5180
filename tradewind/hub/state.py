"""The fleet as its watches see it: members, summaries, ledgers, quotas and bindings, joined to a matrix."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from tradewind.fleet.ledger import Ledger
from tradewind.fleet.sites import Site, Sites
from tradewind.hub import wire
from tradewind.hub.bindings import Bindings
from tradewind.hub.mirror import Mirror
from tradewind.hub.records import (
    FLEET_LABEL,
    MAX_SKEW_SECONDS,
    Binding,
    Member,
    PolicyNote,
    Quota,
    SiteNote,
    current,
    member_of,
    note_of,
    policy_of,
    quota_of,
    requested,
)
from tradewind.kube.watch import Resource

_SKEW_SECONDS = 5.0  # between a site's clock and ours


class FleetState:
    """`wake` is called after each change, in the thread that brings it.

    Members write in `sites_namespace`; `namespace`, that of the ledgers, is closed to them.
    """

    def __init__(
        self,
        namespace: str,
        sites_namespace: str,
        wake: Callable[[], None] = lambda: None,
        promise_seconds: float = 300.0,
    ) -> None:
        self.namespace = namespace
        self.sites_namespace = sites_namespace
        self.members: Mirror[Member] = Mirror(wake)
        self.summaries: Mirror[SiteNote] = Mirror(wake)
        self.ledgers: Mirror[SiteNote] = Mirror(wake)
        self.quotas: Mirror[Quota] = Mirror(wake)
        self.policies: Mirror[PolicyNote] = Mirror(wake)
        self.cluster_policies: Mirror[PolicyNote] = Mirror(wake)
        self.bindings = Bindings(wake)
        self.sites = Sites()
        self.promise_seconds = promise_seconds
        self._settled: dict[
            tuple[str, str], float
        ] = {}  # since when a binding's replicas are all ready there

    def resources(self) -> tuple[Resource, ...]:
        """What has to be watched."""

        def notes(mirror: Mirror[SiteNote], what: str, namespace: str) -> Resource:
            maps = f"/api/v1/namespaces/{namespace}/configmaps"
            selection = {"label_selector": f"{FLEET_LABEL}={what}"}
            return mirror.resource(what, maps, wire.ConfigMapObject, note_of, selection)

        def policies(mirror: Mirror[PolicyNote], name: str) -> Resource:
            return mirror.resource(name, f"{wire.POLICIES}/{name}", wire.PolicyObject, policy_of)

        return (
            self.members.resource("clusters", wire.CLUSTERS, wire.ClusterObject, member_of),
            notes(self.summaries, "summary", self.sites_namespace),
            notes(self.ledgers, "ledger", self.namespace),
            self.quotas.resource("quotas", wire.QUOTAS, wire.QuotaObject, quota_of),
            policies(self.policies, "propagationpolicies"),
            policies(self.cluster_policies, "clusterpropagationpolicies"),
            *self.bindings.resources(),
        )

    def refresh(self, now: float) -> set[str]:
        """Bring the matrix up to date; gives the sites that have changed."""
        changed = self.members.take_changed()
        for mirror, prefix in ((self.summaries, "site-"), (self.ledgers, "ledger-")):
            for key in mirror.take_changed():
                changed.add(key.rpartition("/")[2].removeprefix(prefix))
        for name in sorted(changed):
            member = self.members.get(name)
            if member is None or member.leaving:
                self.sites.remove(name)
            else:
                self.sites.apply(self._joined(member, now))
        return changed

    def _joined(self, member: Member, now: float) -> Site:
        name = member.name
        note = self._summary(name, now)
        if note is None:
            return replace(member.site, ledger=self.ledger(name, now))
        return replace(member.site, summary=note.summary, trouble=note.trouble, ledger=self.ledger(name, now))

    def _summary(self, site: str, now: float) -> SiteNote | None:
        note = self.summaries.get(f"{self.sites_namespace}/site-{site}")
        return None if note is None else current(note, now)

    def ledger(self, site: str, now: float) -> Ledger:
        """Without promises that the summary shows already, or that have had their time."""
        note = self.ledgers.get(f"{self.namespace}/ledger-{site}")
        if note is None:
            return Ledger()
        ledger = note.ledger.between(now - self.promise_seconds, now + MAX_SKEW_SECONDS)
        summary_note = self._summary(site, now)
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

    def policy(self, binding: Binding) -> PolicyNote | None:
        key = binding.policy_key
        return (self.policies if "/" in key else self.cluster_policies).get(key)

    def one_at_a_time(self, binding: Binding) -> bool:
        """The bindings of its namespace count for each other: by a quota, or by groups of workloads."""
        groups = binding.object.spec.workload_affinity_groups is not None
        return groups or any(quota.namespace == binding.namespace for quota in self.quotas.all())

    def others(self, binding: Binding) -> list[Binding]:
        """That its groups are about."""
        return self.bindings.all() if binding.object.spec.workload_affinity_groups else []

    def quota(self, binding: Binding) -> Mapping[str, int] | None:
        """The least that any quota of the tenant leaves to this binding, all its replicas together.

        What the other bindings use is counted here as well, because Karmada's status of a quota comes later.
        """
        quotas = [each for each in self.quotas.all() if each.namespace == binding.namespace]
        if not quotas:
            return None
        others: Counter[str] = Counter()
        for each in self.bindings.all():
            if each.namespace == binding.namespace and each.key != binding.key:
                others.update(each.used)
        left: dict[str, int] = {}
        for quota in quotas:
            for name, hard in quota.hard.items():
                resource = requested(name)
                used = max(others[resource], quota.used.get(name, 0) - binding.used.get(resource, 0))
                left[resource] = min(hard - used, left.get(resource, hard))
        return left
