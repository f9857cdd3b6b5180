"""What ties the classes of a batch to each other and to the pods that are placed already."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TypedDict

import numpy as np

from scoring.filters.durable_floor import DurableFloor
from scoring.filters.node_affinity import accepted
from scoring.filters.taints import tolerable
from scoring.policy import Policy
from scoring.topology import matching, tally, widened
from tradewind.cluster.constraints import PodTerm, Spread
from tradewind.cluster.groups import PodGroup
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import matches
from tradewind.cluster.snapshot import Cluster, Nodes
from tradewind.planner import wishes
from tradewind.planner.problem import Amounts, Attraction, Cap, Choice, Codes, Exclusion, Floor, Gang, Skew
from tradewind.planner.terms import Group


class Relations(TypedDict):
    exclusions: tuple[Exclusion, ...]
    attractions: tuple[Attraction, ...]
    skews: tuple[Skew, ...]
    caps: tuple[Cap, ...]
    floors: tuple[Floor, ...]
    gangs: tuple[Gang, ...]
    choices: tuple[Choice, ...]


def relations(nodes: Nodes, groups: Sequence[Group], staying: Sequence[Pod]) -> Relations:
    cluster = nodes.cluster
    annotated = [pod for pod in staying if pod.annotations or pod.gang]
    return Relations(
        exclusions=(
            *_anti_affinity(cluster, groups),
            *_host_ports(cluster, groups),
            *_conflicts(cluster, groups),
        ),
        attractions=(*_affinity(cluster, groups), *_beside(cluster, groups)),
        skews=tuple(_skews(cluster, groups)),
        caps=(*_one_per_node(cluster, groups, annotated), *_per_zone(cluster, groups, annotated)),
        floors=tuple(_floors(nodes, groups)),
        gangs=tuple(_gangs(groups, annotated)),
        choices=tuple(_choices(groups, annotated)),
    )


def _matched(cluster: Cluster, term: PodTerm, groups: Sequence[Group]) -> frozenset[int]:
    return frozenset(
        index
        for index, group in enumerate(groups)
        if term.matches(group.pod.namespace, group.pod.labels, cluster.namespace_labels(group.pod.namespace))
    )


def _anti_affinity(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Exclusion]:
    bearers: dict[PodTerm, set[int]] = defaultdict(set)
    for index, group in enumerate(groups):
        for term in group.pod.anti_affinity:
            bearers[widened(term)].add(index)  # who keeps away from more holds by either reading
    for term, left in bearers.items():
        right = _matched(cluster, term, groups)
        if right:
            codes = cluster.table.domains(term.topology_key).codes
            yield Exclusion(codes=codes, left=frozenset(left), right=right)


def _host_ports(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Exclusion]:
    ports = {port for group in groups for port in group.pod.host_ports}
    codes = np.arange(len(cluster.table))
    for port in sorted(ports, key=str):
        left = frozenset(i for i, group in enumerate(groups) if port in group.pod.host_ports)
        right = frozenset(
            i
            for i, group in enumerate(groups)
            if any(port.conflicts(other) for other in group.pod.host_ports)
        )
        yield Exclusion(codes=codes, left=left, right=right)


def _conflicts(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Exclusion]:
    codes = np.arange(len(cluster.table))
    for patterns in {group.wishes.conflicts for group in groups} - {()}:
        left = frozenset(i for i, group in enumerate(groups) if group.wishes.conflicts == patterns)
        right = frozenset(i for i, group in enumerate(groups) if wishes.hits(patterns, group.pod))
        if right:
            yield Exclusion(codes=codes, left=left, right=right)


def _affinity(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Attraction]:
    followers: dict[tuple[PodTerm, ...], set[int]] = defaultdict(set)
    for index, group in enumerate(groups):
        terms = group.pod.affinity
        if terms:
            # By both readings of a namespace selector: who is the first by one need not be by the other.
            for reading in dict.fromkeys((terms, tuple(widened(term) for term in terms))):
                followers[reading].add(index)
    for terms, bearers in followers.items():
        targets = frozenset.intersection(*(_matched(cluster, term, groups) for term in terms))
        placed = set.intersection(*(set(matching(cluster, term)) for term in terms))
        keys = sorted({term.topology_key for term in terms})
        domains = [cluster.table.domains(key) for key in keys]
        yield Attraction(
            codes=tuple(each.codes for each in domains),
            existing=tuple(tally(cluster, list(placed), each.codes, len(each.values)) for each in domains),
            followers=frozenset(bearers),
            targets=targets,
            starters=frozenset(bearers) & targets,
        )


def _beside(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Attraction]:
    codes = np.arange(len(cluster.table))
    names = {str(group.pod): index for index, group in enumerate(groups) if len(group.pods) == 1}
    for name in sorted({group.wishes.beside for group in groups} & names.keys()):
        yield Attraction(
            codes=(codes,),
            existing=(np.zeros(len(codes), np.int64),),
            followers=frozenset(i for i, group in enumerate(groups) if group.wishes.beside == name),
            targets=frozenset({names[name]}),
            starters=frozenset(),
        )


def _skews(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Skew]:
    for index, group in enumerate(groups):
        if not group.pod.spreads:
            continue
        members = [cluster.table.domains(spread.topology_key).members for spread in group.pod.spreads]
        labelled = np.all(members, axis=0)
        for spread in group.pod.spreads:
            yield _skew(cluster, groups, index, spread, labelled)


def _skew(
    cluster: Cluster, groups: Sequence[Group], index: int, spread: Spread, labelled: np.ndarray
) -> Skew:
    pod = groups[index].pod
    eligible = labelled.copy()
    if spread.honor_node_affinity:
        eligible &= accepted(pod, cluster.table)
    if spread.honor_taints:
        eligible &= tolerable(pod, cluster.table, comparisons=False)
    domains = cluster.table.domains(spread.topology_key)
    counting = np.where(eligible, domains.codes, -1)
    present = np.bincount(counting + 1, minlength=len(domains.values) + 1)[1:] > 0
    placed = [
        group
        for group in cluster.placed.groups
        if spread.selector
        and group.namespace == pod.namespace
        and not group.deleting
        and matches(spread.selector, dict(group.labels))
    ]
    # An empty selector matches the pod itself and counts nobody else, as kube-scheduler has it.
    counted = frozenset(
        i
        for i, group in enumerate(groups)
        if group.pod.namespace == pod.namespace
        and matches(spread.selector, group.pod.labels)
        and spread.selector
    )
    return Skew(
        bearer=index,
        codes=domains.codes,
        counting=counting,
        existing=tally(cluster, placed, counting, len(domains.values)),
        eligible=present,
        enough=int(present.sum()) >= max(spread.min_domains, 1),
        counted=counted,
        itself=matches(spread.selector, pod.labels),
        most=spread.max_skew,
    )


def _one_per_node(cluster: Cluster, groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Cap]:
    codes = np.arange(len(cluster.table))
    owners = {workload(group.pod) for group in groups if group.wishes.one_per_node}
    for owner in sorted(owners):
        yield _cap(cluster, groups, placed, (owner, wishes.GLOBAL), codes=codes, count=len(codes), most=1)


def _per_zone(cluster: Cluster, groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Cap]:
    domains = cluster.table.domains(wishes.SPREAD_KEY)
    most = {workload(each.pod): each.wishes.max_per_zone for each in groups if each.wishes.max_per_zone}
    for owner, limit in sorted(most.items()):
        yield _cap(
            cluster,
            groups,
            placed,
            (owner, wishes.MAX_PER_ZONE),
            codes=domains.codes,
            count=len(domains.values),
            most=limit,
        )


def _cap(
    cluster: Cluster,
    groups: Sequence[Group],
    placed: Sequence[Pod],
    kind: tuple[str, str],
    *,
    codes: Codes,
    count: int,
    most: int,
) -> Cap:
    """Of the pods of one workload that carry the same annotation."""
    owner, annotation = kind
    existing: Amounts = np.zeros(count + 1, np.int64)
    for pod in placed:
        counts = pod.annotations.get(annotation, "false") != "false" and workload(pod) == owner
        if counts and pod.node_name in cluster.table.row_of:
            existing[codes[cluster.table.row_of[pod.node_name]]] += 1
    classes = frozenset(
        index
        for index, group in enumerate(groups)
        if group.pod.annotations.get(annotation, "false") != "false" and workload(group.pod) == owner
    )
    return Cap(codes=codes, existing=existing[:-1], classes=classes, most=most)


def workload(pod: Pod) -> str:
    """The controller, or for a pod without one its namespace and labels."""
    return pod.owner.uid if pod.owner else f"{pod.namespace} {sorted(pod.labels.items())}"


def has_floor(pod: Pod, policy: Policy) -> bool:
    """Whether of the pod's workload some are to be on durable nodes."""
    rule = _floor_rule(policy)
    return rule is not None and rule.required(pod, 1) > 0


def _floor_rule(policy: Policy) -> DurableFloor | None:
    return next((each for each in policy.filters if isinstance(each, DurableFloor)), None)


def _floors(nodes: Nodes, groups: Sequence[Group]) -> Iterator[Floor]:
    if not nodes.durable.any():
        return
    codes = np.where(nodes.cluster.durable, 0, 1)
    seen: set[tuple[frozenset[int], tuple[PodGroup, ...]]] = set()
    for group in groups:
        rule = _floor_rule(group.policy)
        if rule is None or not has_floor(group.pod, group.policy):
            continue
        for scope in _floor_scopes(nodes.cluster, group.pod, groups):
            if scope in seen:
                continue
            seen.add(scope)
            classes, placed = scope
            durable, spot = tally(nodes.cluster, placed, codes, 2).tolist()
            pods = sum(len(groups[i].pods) for i in classes)
            required = tuple(rule.required(group.pod, total) for total in range(durable + spot + pods + 1))
            yield Floor(classes=classes, durable=durable, total=durable + spot, required=required)


def _floor_scopes(
    cluster: Cluster, pod: Pod, groups: Sequence[Group]
) -> Iterator[tuple[frozenset[int], tuple[PodGroup, ...]]]:
    """Those that wait and those that are placed: of the pod's workload, then of its own controller."""
    uid = pod.owner.uid if pod.owner else ""
    waiting = [(i, each.pod.owner) for i, each in enumerate(groups) if each.pod.workload == pod.workload]
    placed = [each for each in cluster.groups_of_workload(pod.workload) if not each.deleting]
    yield frozenset(i for i, _ in waiting), tuple(placed)
    yield (
        frozenset(i for i, owner in waiting if owner and owner.uid == uid),
        tuple(each for each in placed if each.owner_uid == uid),
    )


def _gangs(groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Gang]:
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        if group.pod.gang:
            members[group.pod.namespace, group.pod.gang].append(index)
    running = Counter((pod.namespace, pod.gang) for pod in placed) if members else Counter()
    for key, classes in sorted(members.items()):
        waiting = sum(len(groups[index].pods) for index in classes)
        wanted = max(groups[index].wishes.gang_min for index in classes)
        least = max(wanted - running[key], 0) if wanted else waiting
        yield Gang(name="/".join(key), classes=frozenset(classes), least=least)


def _choices(groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Choice]:
    names = {group.wishes.xor for group in groups} - {""}
    taken = Counter(wishes.standing(pod).xor for pod in placed) if names else Counter[str]()
    for name in sorted(names):
        classes = frozenset(index for index, group in enumerate(groups) if group.wishes.xor == name)
        yield Choice(name=name, classes=classes, most=max(1 - taken[name], 0))
