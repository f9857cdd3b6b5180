"""What is kept of Karmada's objects and of our ConfigMaps."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    QuotaObject,
    read_apis,
    read_placement,
    ready_replicas,
)

FLEET_LABEL = ANNOTATION_PREFIX + "fleet"  # summary or ledger
SITE_ANNOTATION = ANNOTATION_PREFIX + "site"
FORWARDED_ANNOTATION = ANNOTATION_PREFIX + "forwarded-to"  # SCHEDULER@GENERATION
NEAR_ANNOTATION = ANNOTATION_PREFIX + "near"
APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"
SCHEDULED = "Scheduled"


@dataclass(frozen=True)
class Member:
    """A Cluster, without what the site says of itself."""

    site: Site
    version: str
    namespace: str = ""

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
        ready=ready and cluster.metadata.deletion_timestamp is None,
        apis=read_apis(status.api_enablements),
    )
    return Member(site, cluster.metadata.resource_version)


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
    metadata, data = config_map.metadata, config_map.data or {}
    site = (metadata.annotations or {}).get(SITE_ANNOTATION, "")
    head = (metadata.name, metadata.namespace, metadata.resource_version, site)
    if (metadata.labels or {}).get(FLEET_LABEL) == "ledger":
        try:
            return SiteNote(*head, ledger=read_ledger(data.get("ledger", "{}")))
        except msgspec.MsgspecError:
            return SiteNote(*head)  # nobody knows what was promised; the summary will show it
    try:
        return SiteNote(*head, summary=read_summary(data.get("summary", ""), site))
    except SummaryError as error:
        return SiteNote(*head, trouble=str(error))


@dataclass(frozen=True)
class Quota:
    name: str
    namespace: str
    version: str
    left: Mapping[str, int]


def quota_of(quota: QuotaObject) -> Quota:
    hard, used = _amounts(quota.spec.overall), _amounts(quota.status.overall_used)
    left = {resource: limit - used.get(resource, 0) for resource, limit in hard.items()}
    metadata = quota.metadata
    return Quota(metadata.name, metadata.namespace, metadata.resource_version, left)


def _amounts(quantities: RawQuantities | None) -> dict[str, int]:
    """A quota may say requests.cpu for cpu."""
    nanos = read_nanos(quantities, "a quota")
    return {
        (name := resource.removeprefix("requests.")): amount(name, value) for resource, value in nanos.items()
    }


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
        return f"{self.namespace}/{self.name}"

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
        """Of which a scheduler is the home."""
        requirements = self.object.spec.replica_requirements
        try:
            requests = _amounts(requirements.resource_request if requirements else None)
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
    def workload(self) -> str:
        """As a member's pods name it: `tradewind.cluster.workloads`."""
        resource = self.object.spec.resource
        return f"{resource.kind} {resource.namespace}/{resource.name}"

    @cached_property
    def placement(self) -> Placement:
        return read_placement(self.object.spec.placement)

    @cached_property
    def current(self) -> Mapping[str, int]:
        return {target.name: target.replicas for target in self.object.spec.clusters or ()}

    @cached_property
    def ready(self) -> Mapping[str, int]:
        return ready_replicas(self.object.status.aggregated_status)

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
        if not self.current or self.rescheduled:
            return True
        if self.placement.division == "Duplicated":
            wrong = any(replicas != spec.replicas for replicas in self.current.values())
        else:
            wrong = sum(self.current.values()) != spec.replicas
        return wrong or self._applied() != self.placement

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
    ) -> Request:
        """Raise QuantityError for a request of resources that cannot be read."""
        spec = self.object.spec
        resource, annotations = spec.resource, self.object.metadata.annotations or {}
        evicted = frozenset(str(task.get("fromCluster")) for task in spec.graceful_eviction_tasks or ())
        return Request(
            key=self.promise_key,
            pod=_pod(self.object),
            replicas=spec.replicas,
            placement=self.placement,
            api=f"{resource.api_version}/{resource.kind}",
            tenant=self.namespace,
            workload_class=annotations.get(CLASS, ""),
            priority=self.priority,
            current=current,
            fresh=fresh,
            excluded=excluded | evicted,
            near=_near(annotations.get(NEAR_ANNOTATION, "")),
            quota=quota,
        )


def binding_of(binding: BindingObject) -> Binding:
    found = Binding(binding)
    _ = found.placement  # one that cannot be read is skipped by the watch, with a warning
    return found


def _pod(binding: BindingObject) -> Pod:
    requirements = binding.spec.replica_requirements
    claim = requirements.node_claim if requirements else None
    affinity = claim.hard_node_affinity if claim else None
    nanos = read_nanos(requirements.resource_request if requirements else None, "the replica requirements")
    requests = {resource: amount(resource, value) for resource, value in nanos.items()}
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
