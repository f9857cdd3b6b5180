"""What ties the classes of a batch to each other: filters over other pods, and gangs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from scoring.pod_filter import PodFilter, Waiting
from scoring.topology import SpreadDomains
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.deadline import NEVER, OutOfTimeError, ensure_time
from tradewind.planner.problem import Amounts, Codes, Gang, Mask
from tradewind.planner.relations.attraction import Attraction
from tradewind.planner.relations.cap import Cap
from tradewind.planner.relations.choice import Choice
from tradewind.planner.relations.exclusion import Exclusion
from tradewind.planner.relations.floor import Floor
from tradewind.planner.relations.relation import Relation
from tradewind.planner.relations.skew import Skew
from tradewind.planner.terms import Group, pod_filters

# Of all relations of a batch. A pod is counted by each of its relations, in some 20 microseconds, several
# times for a plan; the classes of ordinary workloads are in a few relations each.
MAX_MEMBERS = 100_000


def gangs(groups: Sequence[Group]) -> tuple[Gang, ...]:
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        if group.pod.gang:
            members[group.pod.namespace, group.pod.gang].append(index)
    found = []
    for key, classes in sorted(members.items()):
        waiting = sum(len(groups[index].pods) for index in classes)
        wanted = max(groups[index].hints.gang_min for index in classes)
        found.append(Gang(name="/".join(key), classes=frozenset(classes), min_pods=wanted or waiting))
    return tuple(found)


def relations(nodes: Nodes, groups: Sequence[Group], deadline: float = NEVER) -> tuple[Relation, ...]:
    """Raise OutOfTimeError where these are too many, or take longer to find."""
    pods, counts = [group.pod for group in groups], [len(group.pods) for group in groups]
    found = _Found(deadline)
    for rule, subject in pod_filters([group.policy for group in groups]):
        rule.relate(Waiting(pods, counts, subject), nodes, _Collected(rule, nodes.durable, found))
    return tuple(found.relations)


class _Found:
    def __init__(self, deadline: float) -> None:
        self.relations: list[Relation] = []
        self._members = 0
        self._deadline = deadline

    def append(self, relation: Relation) -> None:
        ensure_time(self._deadline)
        self._members += len(relation.members())
        if self._members > MAX_MEMBERS:
            raise OutOfTimeError
        self.relations.append(relation)


class _Collected:
    """The relations that one filter tells of."""

    def __init__(self, rule: PodFilter, durable: Mask, found: _Found) -> None:
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

    def choose(self, name: str, classes: Iterable[int], max_pods: int) -> None:
        self._found.append(Choice(name=name, classes=frozenset(classes), max_pods=max_pods))

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
