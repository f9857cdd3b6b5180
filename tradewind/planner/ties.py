"""What ties the classes of a batch to each other: filters over other pods, placement hints and gangs."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from scoring.pod_filter import PodFilter, Waiting
from scoring.topology import SpreadDomains
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Cluster, Nodes
from tradewind.planner import hints
from tradewind.planner.hints import workload
from tradewind.planner.problem import Amounts, Codes, Gang, Mask
from tradewind.planner.relations.attraction import Attraction
from tradewind.planner.relations.cap import Cap
from tradewind.planner.relations.choice import Choice
from tradewind.planner.relations.exclusion import Exclusion
from tradewind.planner.relations.floor import Floor
from tradewind.planner.relations.relation import Relation
from tradewind.planner.relations.skew import Skew
from tradewind.planner.terms import Group, pod_filters

_APART = f"{hints.CONFLICTS}: beside a pod that it conflicts with"
_BESIDE = f"{hints.BESIDE}: not beside the pod it names"
_FULL = "tradewind.dev annotations: holding as many of the workload as its annotation allows"


def relations(nodes: Nodes, groups: Sequence[Group], staying: Sequence[Pod]) -> tuple[Relation, ...]:
    """`staying` are the pods that are placed already."""
    annotated = [pod for pod in staying if pod.annotations]
    return (
        *_of_filters(nodes, groups),
        *_conflicts(nodes.cluster, groups),
        *_beside(nodes.cluster, groups),
        *_one_per_node(nodes.cluster, groups, annotated),
        *_per_zone(nodes.cluster, groups, annotated),
        *_choices(groups, annotated),
    )


def gangs(groups: Sequence[Group], staying: Sequence[Pod]) -> tuple[Gang, ...]:
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        if group.pod.gang:
            members[group.pod.namespace, group.pod.gang].append(index)
    running = Counter((pod.namespace, pod.gang) for pod in staying if pod.gang) if members else Counter()
    found = []
    for key, classes in sorted(members.items()):
        waiting = sum(len(groups[index].pods) for index in classes)
        wanted = max(groups[index].hints.gang_min for index in classes)
        min_pods = max(wanted - running[key], 0) if wanted else waiting
        found.append(Gang(name="/".join(key), classes=frozenset(classes), min_pods=min_pods))
    return tuple(found)


def _of_filters(nodes: Nodes, groups: Sequence[Group]) -> list[Relation]:
    pods, counts = [group.pod for group in groups], [len(group.pods) for group in groups]
    found: list[Relation] = []
    for rule, subject in pod_filters([group.policy for group in groups]):
        rule.relate(Waiting(pods, counts, subject), nodes, _Collected(rule, nodes.durable, found))
    return found


class _Collected:
    """The relations that one filter tells of."""

    def __init__(self, rule: PodFilter, durable: Mask, found: list[Relation]) -> None:
        self._source = f"{rule.name}: {rule.reason}"
        self._durable = durable
        self._found = found

    def exclude(self, codes: Codes, left: Iterable[int], right: Iterable[int]) -> None:
        self._found.append(
            Exclusion(source=self._source, codes=codes, left=frozenset(left), right=frozenset(right))
        )

    def attract(
        self,
        codes: Sequence[Codes],
        existing: Sequence[Amounts],
        *,
        followers: Iterable[int],
        targets: Iterable[int],
    ) -> None:
        following, wanted = frozenset(followers), frozenset(targets)
        self._found.append(
            Attraction(
                source=self._source,
                codes=tuple(codes),
                existing=tuple(existing),
                followers=following,
                targets=wanted,
                starters=following & wanted,
            )
        )

    def spread(self, domains: SpreadDomains, bearer: int, counted: Iterable[int]) -> None:
        self._found.append(
            Skew(source=self._source, domains=domains, bearer=bearer, counted=frozenset(counted))
        )

    def cap(self, codes: Codes, existing: Amounts, classes: Iterable[int], max_pods: int) -> None:
        self._found.append(
            Cap(
                source=self._source,
                codes=codes,
                existing=existing,
                classes=frozenset(classes),
                max_pods=max_pods,
            )
        )

    def keep_durable(
        self, classes: Iterable[int], *, durable: int, total: int, required: Sequence[int]
    ) -> None:
        self._found.append(
            Floor(
                source=self._source,
                nodes=self._durable,
                classes=frozenset(classes),
                durable=durable,
                total=total,
                required=tuple(required),
            )
        )


def _conflicts(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Exclusion]:
    codes = np.arange(len(cluster.table))
    for patterns in sorted({group.hints.conflicts for group in groups} - {()}):
        left = frozenset(i for i, group in enumerate(groups) if group.hints.conflicts == patterns)
        right = frozenset(i for i, group in enumerate(groups) if hints.named(patterns, group.pod))
        if right:
            yield Exclusion(source=_APART, codes=codes, left=left, right=right)


def _beside(cluster: Cluster, groups: Sequence[Group]) -> Iterator[Attraction]:
    codes = np.arange(len(cluster.table))
    names = {str(group.pod): index for index, group in enumerate(groups) if len(group.pods) == 1}
    for name in sorted({group.hints.beside for group in groups} & names.keys()):
        yield Attraction(
            source=_BESIDE,
            codes=(codes,),
            existing=(np.zeros(len(codes), np.int64),),
            followers=frozenset(i for i, group in enumerate(groups) if group.hints.beside == name),
            targets=frozenset({names[name]}),
            starters=frozenset(),
        )


def _one_per_node(cluster: Cluster, groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Cap]:
    codes = np.arange(len(cluster.table))
    for owner in sorted({workload(group.pod) for group in groups if group.hints.one_per_node}):
        counted = (owner, hints.ONE_PER_NODE)
        yield _cap(cluster, groups, placed, counted, codes=codes, count=len(codes), max_pods=1)


def _per_zone(cluster: Cluster, groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Cap]:
    domains = cluster.table.domains(hints.SPREAD_KEY)
    limits = {workload(each.pod): each.hints.max_per_zone for each in groups if each.hints.max_per_zone}
    for owner, limit in sorted(limits.items()):
        counted = (owner, hints.MAX_PER_ZONE)
        count = len(domains.values)
        yield _cap(cluster, groups, placed, counted, codes=domains.codes, count=count, max_pods=limit)


def _cap(
    cluster: Cluster,
    groups: Sequence[Group],
    placed: Sequence[Pod],
    counted: tuple[str, str],
    *,
    codes: Codes,
    count: int,
    max_pods: int,
) -> Cap:
    """`counted` are the pods of one workload that carry the same annotation."""
    owner, annotation = counted

    def counts(pod: Pod) -> bool:
        return pod.annotations.get(annotation, "false") != "false" and workload(pod) == owner

    existing: Amounts = np.zeros(count + 1, np.int64)
    for pod in placed:
        if pod.node_name in cluster.table.row_of and counts(pod):
            existing[codes[cluster.table.row_of[pod.node_name]]] += 1
    classes = frozenset(index for index, group in enumerate(groups) if counts(group.pod))
    return Cap(source=_FULL, codes=codes, existing=existing[:-1], classes=classes, max_pods=max_pods)


def _choices(groups: Sequence[Group], placed: Sequence[Pod]) -> Iterator[Choice]:
    names = {group.hints.xor for group in groups} - {""}
    taken = Counter(hints.read_placed(pod).xor for pod in placed) if names else Counter[str]()
    for name in sorted(names):
        classes = frozenset(index for index, group in enumerate(groups) if group.hints.xor == name)
        yield Choice(name=name, classes=classes, max_pods=max(1 - taken[name], 0))
