"""What is kept of Karmada's objects and of our ConfigMaps."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec

from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.quantity import amount
from tradewind.cluster.requests import read_nanos
from tradewind.cluster.wire import NULL, RawQuantities
from tradewind.config.classes import CLASS
from tradewind.errors import QuantityError
from tradewind.fleet.ledger import EMPTY, Ledger, read_ledger
from tradewind.fleet.partitions import partition_of
from tradewind.fleet.placement import Placement
from tradewind.fleet.request import Near, Request
from tradewind.fleet.sites import Site
from tradewind.fleet.summary import Summary, SummaryError, read_summary
from tradewind.hub.wire import (
    BindingObject,
    ClusterObject,
    ConfigMapObject,
    ItemStatus,
    PolicyObject,
    QuotaObject,
    WorkloadGroups,
    read_apis,
    read_placement,
    statuses,
)

FLEET_LABEL = ANNOTATION_PREFIX + "fleet"  # summary or ledger
SITE_ANNOTATION = ANNOTATION_PREFIX + "site"
FORWARDED_ANNOTATION = ANNOTATION_PREFIX + "forwarded-to"  # SCHEDULER@GENERATION
NEAR_ANNOTATION = ANNOTATION_PREFIX + "near"
APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"
SCHEDULED = "Scheduled"
_NO_GROUPS = WorkloadGroups()
MAX_SITE_NAME = 63
MAX_SKEW_SECONDS = 60.0  # between the clocks of a member and the hub
_SITE_NAME = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")  # as Karmada and OCM name clusters


@dataclass(frozen=True)
class Member:
    """A Cluster, without what the site says of itself."""

    site: Site
    version: str
    namespace: str = ""
    leaving: bool = False  # it is being removed from the hub

    @property
    def name(self) -> str:
        return self.site.name


def member_of(cluster: ClusterObject) -> Member:
    spec, status = cluster.spec, cluster.status
    ready = any(each.type == "Ready" and each.status == "True" for each in status.conditions or ())
    zones = spec.zones or ((spec.zone,) if spec.zone else ())
    site = Site(
        name=cluster.metadata.name,
        labels=cluster.metadata.labels or {},
        taints=spec.taints or (),
        region=spec.region,
        provider=spec.provider,
        zones=zones,
        ready=ready,
        apis=read_apis(status.api_enablements),
    )
    leaving = cluster.metadata.deletion_timestamp is not None
    return Member(site, cluster.metadata.resource_version, leaving=leaving)


@dataclass(frozen=True)
class SiteNote:
    """A ConfigMap of ours: a site's summary, or its ledger."""

    name: str
    namespace: str
    version: str
    site: str
    summary: Summary | None = None
    trouble: str = ""  # of a summary that cannot be used
    ledger: Ledger = EMPTY


def note_of(config_map: ConfigMapObject) -> SiteNote:
    """A summary counts for the site that its ConfigMap is named after: that name is what admission checks."""
    metadata, data = config_map.metadata, config_map.data or {}
    what = (metadata.labels or {}).get(FLEET_LABEL)
    site = metadata.name.removeprefix("ledger-" if what == "ledger" else "site-")
    head = (metadata.name, metadata.namespace, metadata.resource_version, site)
    said = (metadata.annotations or {}).get(SITE_ANNOTATION, "")
    if said != site or len(site) > MAX_SITE_NAME or not _SITE_NAME.fullmatch(site):
        return SiteNote(*head, trouble=f'its name and its annotation "{said[:60]}" are not of one site')
    if what == "ledger":
        try:
            return SiteNote(*head, ledger=read_ledger(data.get("ledger", "{}")))
        except msgspec.MsgspecError:
            return SiteNote(*head)  # nobody knows what was promised; the summary will show it
    try:
        return SiteNote(*head, summary=read_summary(data.get("summary", ""), site))
    except SummaryError as error:
        return SiteNote(*head, trouble=str(error))


def current(note: SiteNote, now: float) -> SiteNote:
    """Without a summary from the future, which would stay fresh for as long as it says."""
    if note.summary is None or note.summary.time <= now + MAX_SKEW_SECONDS:
        return note
    ahead = note.summary.time - now
    return replace(note, summary=None, trouble=f"its time is {ahead:,.0f} s in the future")


@dataclass(frozen=True)
class PolicyNote:
    """A PropagationPolicy, or a ClusterPropagationPolicy, which has no namespace."""

    name: str
    namespace: str
    version: str
    annotations: Mapping[str, str]


def policy_of(policy: PolicyObject) -> PolicyNote:
    metadata = policy.metadata
    annotations = metadata.annotations or {}
    ours = {key: annotations[key] for key in (CLASS, NEAR_ANNOTATION) if key in annotations}
    return PolicyNote(metadata.name, metadata.namespace, metadata.resource_version, ours)


@dataclass(frozen=True)
class Quota:
    name: str
    namespace: str
    version: str
    hard: Mapping[str, int]  # by the name in the quota: cpu, requests.cpu or limits.cpu
    used: Mapping[str, int]


def quota_of(quota: QuotaObject) -> Quota:
    metadata = quota.metadata
    return Quota(
        metadata.name,
        metadata.namespace,
        metadata.resource_version,
        hard=_amounts(quota.spec.overall),
        used=_amounts(quota.status.overall_used),
    )


def requested(resource: str) -> str:
    """The resource that a request names: a container's limit is at least its request."""
    return resource.removeprefix("requests.").removeprefix("limits.")


def _amounts(quantities: RawQuantities | None) -> dict[str, int]:
    nanos = read_nanos(quantities, "a quota")
    return {resource: amount(requested(resource), value) for resource, value in nanos.items()}


@dataclass(frozen=True)
class Binding:
    object: BindingObject

    @property
    def name(self) -> str:
        return self.object.metadata.name

    @property
    def namespace(self) -> str:
        return self.object.metadata.namespace

    @property
    def version(self) -> str:
        return self.object.metadata.resource_version

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def promise_key(self) -> str:
        """Of this binding, and not of another that has its name later."""
        return self.object.metadata.uid or self.key

    @property
    def generation(self) -> int:
        return self.object.metadata.generation

    @property
    def priority(self) -> int:
        priority = self.object.spec.schedule_priority
        return priority.priority if priority else 0

    @cached_property
    def partition(self) -> str:
        """Of which a scheduler is the home; workloads with groups look at each other, so they share one."""
        if self.groups != _NO_GROUPS:
            return f"groups {self.namespace}"
        try:
            requests = _requests(self.object)
        except QuantityError:
            requests = {}
        return partition_of(self.placement, requests, self.key)

    @property
    def forwarded_to(self) -> str:
        """The scheduler that is to give the answer; writing it is one generation more."""
        text = (self.object.metadata.annotations or {}).get(FORWARDED_ANNOTATION, "")
        scheduler, _, generation = text.rpartition("@")
        asked = int(generation) if generation.isdecimal() else -1
        return scheduler if self.generation in {asked, asked + 1} else ""

    @property
    def workload_name(self) -> str:
        """As a member's pods name it: `tradewind.cluster.workloads`."""
        resource = self.object.spec.resource
        return f"{resource.kind} {resource.namespace}/{resource.name}"

    @cached_property
    def placement(self) -> Placement:
        try:
            return read_placement(self.object.spec.placement)
        except msgspec.MsgspecError:
            return Placement()  # `refusal` says so

    @cached_property
    def current(self) -> Mapping[str, int]:
        return {target.name: target.replicas for target in self.object.spec.clusters or ()}

    @property
    def policy_key(self) -> str:
        """Of the PropagationPolicy or ClusterPropagationPolicy that the binding comes from."""
        annotations = self.object.metadata.annotations or {}
        name = annotations.get("propagationpolicy.karmada.io/name", "")
        if name:
            return f"{self.namespace}/{name}"
        return annotations.get("clusterpropagationpolicy.karmada.io/name", "")

    @property
    def workload(self) -> bool:
        """As Karmada: it has replicas, or says what one takes."""
        spec = self.object.spec
        return spec.replicas > 0 or spec.replica_requirements is not None or bool(spec.components)

    @property
    def everywhere(self) -> bool:
        """As `Request.everywhere`."""
        return not self.workload or self.placement.division == "Duplicated"

    @property
    def groups(self) -> WorkloadGroups:
        """Of workloads that are to be on the same sites, or on others."""
        return self.object.spec.workload_affinity_groups or _NO_GROUPS

    @cached_property
    def refusal(self) -> str:
        """Why no decision is possible, whatever sites there are."""
        spec = self.object.spec
        try:
            read_placement(spec.placement)
            _requests(self.object)
        except (msgspec.MsgspecError, QuantityError) as error:
            return f"cannot be read: {error}"
        unsupported = self.placement.unsupported
        if spec.components:
            unsupported = "components"
        return f"Tradewind does not support spec.{unsupported}" if unsupported else ""

    @cached_property
    def statuses(self) -> Mapping[str, ItemStatus]:
        return statuses(self.object.status.aggregated_status)

    @cached_property
    def ready(self) -> Mapping[str, int]:
        return {site: status.ready_replicas for site, status in self.statuses.items()}

    def unplaced(self, site: str, waiting: int) -> int:
        """Replicas that have no node at the site, where so many of the workload's pods wait for one.

        The pods of a rolling update wait beside replicas that run; while one is under way nothing is missing.
        """
        replicas, status = self.current.get(site, 0), self.statuses.get(site, ItemStatus())
        pods = replicas if status.replicas is None else status.replicas
        if status.updated_replicas is not None and status.updated_replicas < pods:
            return 0
        return min(waiting, replicas, max(0, replicas - (pods - waiting)))

    @cached_property
    def used(self) -> Mapping[str, int]:
        """What it counts for in a quota."""
        count = sum(self.current.values())
        if self.refusal:
            return {}
        return {resource: count * amount for resource, amount in _requests(self.object).items()}

    def _neighbours(self, others: Iterable["Binding"]) -> tuple[frozenset[str] | None, frozenset[str]]:
        """As Karmada: a group is of one namespace, and workloads that are nowhere yet do not count."""
        together, apart = self.groups.affinity_group, self.groups.anti_affinity_group
        beside: frozenset[str] | None = None
        taken: set[str] = set()
        for other in others:
            if other.namespace != self.namespace or other.key == self.key or not other.current:
                continue
            if together and other.groups.affinity_group == together:
                sites = frozenset(other.current)
                beside = sites if beside is None else beside & sites
            if apart and other.groups.anti_affinity_group == apart:
                taken.update(other.current)
        return beside, frozenset(taken)

    def ours(self, scheduler_name: str) -> bool:
        spec = self.object.spec
        suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
        return (
            spec.scheduler_name == scheduler_name
            and spec.placement is not NULL
            and not suspended
            and self.object.metadata.deletion_timestamp is None
        )

    @property
    def unsettled(self) -> bool:
        """Whether what is written is no answer to what is asked."""
        spec = self.object.spec
        if self.rescheduled or self._applied() != self.placement:
            return True
        if self.workload and not spec.replicas:
            return bool(self.current)
        if not self.current:
            return True
        if self.placement.division == "Duplicated":
            return any(replicas != spec.replicas for replicas in self.current.values())
        return sum(self.current.values()) != spec.replicas

    @property
    def rescheduled(self) -> bool:
        """A new decision was asked for since the last one; Karmada writes whole seconds."""
        asked, status = self.object.spec.reschedule_triggered_at, self.object.status
        if asked is None:
            return False
        last = status.last_scheduled_time
        if last is None or asked > last:
            return True
        return asked == last and status.scheduler_observed_generation != self.generation

    def _applied(self) -> Placement | None:
        applied = (self.object.metadata.annotations or {}).get(APPLIED_PLACEMENT)
        try:
            return None if applied is None else read_placement(msgspec.Raw(applied.encode()))
        except msgspec.MsgspecError:
            return None

    def request(
        self,
        *,
        current: Mapping[str, int],
        fresh: bool,
        excluded: frozenset[str] = frozenset(),
        quota: Mapping[str, int] | None = None,
        policy: PolicyNote | None = None,
        others: Iterable["Binding"] = (),
    ) -> Request:
        """Raise QuantityError for a request of resources that cannot be read.

        The annotations of its policy count where the binding, which Karmada makes, has none of its own.
        `others` are those that its groups are about.
        """
        spec, status = self.object.spec, self.object.status
        resource, own = spec.resource, self.object.metadata.annotations or {}
        annotations = {**(policy.annotations if policy else {}), **own}
        beside, apart = self._neighbours(others)
        evicting = frozenset(str(task.get("fromCluster")) for task in spec.graceful_eviction_tasks or ())
        return Request(
            key=self.promise_key,
            pod=_pod(self.object),
            replicas=spec.replicas,
            workload=self.workload,
            placement=self.placement,
            api=f"{resource.api_version}/{resource.kind}",
            tenant=self.namespace,
            workload_class=annotations.get(CLASS, ""),
            priority=self.priority,
            current=current,
            fresh=fresh,
            excluded=excluded,
            evicting=evicting,
            beside=beside,
            apart=apart,
            affinity_name=status.scheduler_observed_affinity_name,
            near=_near(annotations.get(NEAR_ANNOTATION, "")),
            quota=quota,
            held=sum(self.current.values()),
        )


def binding_of(binding: BindingObject) -> Binding:
    return Binding(binding)


def _pod(binding: BindingObject) -> Pod:
    requirements = binding.spec.replica_requirements
    claim = requirements.node_claim if requirements else None
    affinity = claim.hard_node_affinity if claim else None
    requests = _requests(binding)
    if binding.spec.replicas:
        requests["pods"] = 1
    return Pod(
        namespace=binding.metadata.namespace,
        name=binding.metadata.name,
        uid="",
        labels={},
        annotations={},
        requests=requests,
        limits={},
        node_selector=(claim.node_selector if claim else None) or {},
        node_terms=None if affinity is None else affinity.node_selector_terms or (),
        tolerations=(claim.tolerations if claim else None) or (),
    )


def _requests(binding: BindingObject) -> dict[str, int]:
    """Of one replica."""
    requirements = binding.spec.replica_requirements
    nanos = read_nanos(requirements.resource_request if requirements else None, "the replica requirements")
    return {resource: amount(resource, value) for resource, value in nanos.items()}


def _near(text: str) -> Near | None:
    """`52.5,13.4`, or the name of a row of the latency table; None for a point that is none."""
    parts = text.strip().split(",")
    if len(parts) == 1:
        return parts[0] or None
    try:
        latitude, longitude = (float(part) for part in parts)
    except ValueError:
        return None
    return (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None  # noqa: PLR2004
