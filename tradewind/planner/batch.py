"""The waiting pods of a cluster, grouped into classes of equals, and the problem that they make."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.gangs import without_gang
from scoring.policy import Policy
from tradewind.cluster import hints
from tradewind.cluster.hints import Hints, workload
from tradewind.cluster.in_use import nodes_in_use
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes, Snapshot
from tradewind.planner.deadline import OutOfTimeError, is_over
from tradewind.planner.problem import Problem
from tradewind.planner.relations.relation import Relation
from tradewind.planner.rent import NO_RENT, Rent
from tradewind.planner.terms import (
    Group,
    opening,
    other_accounts,
    own_terms,
    pod_classes,
    pod_filters,
    prices,
)
from tradewind.planner.ties import MAX_MEMBERS, gangs, relations
from tradewind.planner.wishes import label_keys, preferences

PolicyOf = Callable[[Pod], Policy]

_LATE = "there was no time to plan it: the pods of its batch ask for too many different things"


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    snapshot: Snapshot  # without the pods that are to be replaced
    staying: Sequence[Pod]  # those that are on nodes
    groups: tuple[Group, ...]  # one for each class of the problem
    refused: Mapping[str, str]  # pods that no plan is made for, by namespace/name, and why
    late: bool  # whether some of these were refused for lack of time
    problem: Problem


def make_batch(
    snapshot: Snapshot,
    pods: Sequence[Pod],
    policy_of: PolicyOf,
    favour: Mapping[str, int] | None = None,
    *,
    rent: Rent = NO_RENT,
    emptied: Collection[str] = (),
    seconds: float = math.inf,
) -> Batch:
    """All pods of the cluster: those on nodes, and those that wait for one.

    `favour` by UID: among pods of equal priority the higher goes first; 0 where nothing is said. `rent` is
    what room costs. Nodes that are being `emptied` are to be opened again for a pod that goes there, at twice
    their price. Pods are refused where their classes take more than so many `seconds`, or what ties them to
    others; the most urgent are kept, and those without terms about other pods.
    """
    placed = [pod for pod in pods if pod.node_name and not pod.finished]
    roster = snapshot.nodes.cluster.roster
    waiting = [without_gang(pod, roster) for pod in pods if pod.waiting]
    wanted = _Wanted(waiting, placed)
    snapshot = snapshot.without(wanted.replaced(placed))
    staying = wanted.staying(placed)
    plannable = [pod for pod in waiting if str(pod) not in wanted.refused] if wanted.refused else waiting
    deadline = time.monotonic() + seconds
    groups = _groups(plannable, wanted.hints, snapshot, policy_of, favour or {}, deadline=deadline)
    groups, problem = _problem(snapshot, groups, staying, rent, emptied, seconds=seconds)
    kept = {pod.uid for group in groups for pod in group.pods}
    late = {str(pod): _LATE for pod in plannable if pod.uid not in kept}
    return Batch(
        snapshot=snapshot,
        staying=staying,
        groups=groups,
        refused={**wanted.refused, **late},
        late=bool(late),
        problem=problem,
    )


class _Wanted:
    """What the waiting pods ask for by hints, and which of them no plan can be made for."""

    def __init__(self, waiting: Sequence[Pod], placed: Sequence[Pod]) -> None:
        self.hints: dict[str, Hints] = {}  # by UID
        self.refused: dict[str, str] = {}  # by namespace/name, with the reason
        for pod in waiting:
            self._read(pod)
        naming = [pod for pod in waiting if self.hints[pod.uid].replaces or self.hints[pod.uid].beside]
        self.by_name = {str(pod): pod for pod in placed} if naming else {}  # only these ask for pods by name
        self._successor = {
            self.hints[pod.uid].replaces: str(pod) for pod in naming if self.hints[pod.uid].replaces
        }
        if naming:
            self._refuse_superseded(waiting)
            self._refuse_dangling(naming, waiting)
        self._refuse_incomplete_gangs(waiting)

    def replaced(self, placed: Iterable[Pod]) -> list[Pod]:
        return [pod for pod in placed if str(pod) in self._successor] if self._successor else []

    def staying(self, placed: Sequence[Pod]) -> Sequence[Pod]:
        return [pod for pod in placed if str(pod) not in self._successor] if self._successor else placed

    def _read(self, pod: Pod) -> None:
        try:
            self.hints[pod.uid] = hints.read(pod)
        except hints.HintError as error:
            self.hints[pod.uid] = hints.NONE
            self.refused[str(pod)] = str(error)

    def _refuse_superseded(self, waiting: Iterable[Pod]) -> None:
        """Pods whose place another one takes."""
        for name in map(str, waiting):
            if name in self._successor:
                self.refused[name] = f"replaced by {self._successor[name]}"

    def _refuse_dangling(self, naming: Iterable[Pod], waiting: Iterable[Pod]) -> None:
        """Pods that ask for the node of one that is not there."""
        known = self.by_name.keys() | {str(pod) for pod in waiting}
        for pod in naming:
            name = self.hints[pod.uid].beside
            if name and name not in known:
                self.refused[str(pod)] = f"asks for the node of {name}, which is not there"

    def _refuse_incomplete_gangs(self, waiting: Iterable[Pod]) -> None:
        """Pods of gangs that are all or nothing, and of which one is refused."""
        if not self.refused:
            return
        members: dict[tuple[str, str], list[Pod]] = defaultdict(list)
        for pod in waiting:
            if pod.gang:
                members[pod.namespace, pod.gang].append(pod)
        for (_, name), pods in members.items():
            missing = next((str(pod) for pod in pods if str(pod) in self.refused), None)
            if missing and not any(self.hints[pod.uid].gang_min for pod in pods):
                reason = f"gang {name} needs {missing}: {self.refused[missing]}"
                self.refused |= {str(pod): reason for pod in pods if str(pod) not in self.refused}


def _problem(
    snapshot: Snapshot,
    groups: tuple[Group, ...],
    staying: Sequence[Pod],
    rent: Rent,
    emptied: Collection[str],
    *,
    seconds: float,
) -> tuple[tuple[Group, ...], Problem]:
    """The groups that are in it, and the problem."""
    nodes = snapshot.nodes
    used = nodes.cluster.table.rows(nodes_in_use(staying).difference(emptied))
    left = nodes.cluster.table.rows(emptied)
    mask = nodes.durable.copy()
    mask[:] = False
    mask[used] = True
    price = prices(nodes)
    opened = opening(price, rent)
    opened[left] += price[left]  # and what its moves were made for is lost
    others = other_accounts(groups, nodes)
    classes = pod_classes(groups, nodes, price, rent=rent, deadline=time.monotonic() + seconds)
    class_of = {id(group): each for group, each in zip(groups, classes, strict=False)}
    groups, tied = _related(nodes, _without(groups, groups[len(classes) :]), seconds)
    kept, preferred = preferences(
        nodes,
        groups,
        [class_of[id(group)] for group in groups],
        most_members=MAX_MEMBERS - sum(len(each.members()) for each in tied),
        deadline=time.monotonic() + seconds,
    )
    return groups, Problem(
        node_names=tuple(nodes.names),
        free=np.vstack([nodes.free, *(rule.left(account, nodes) for account, rule in others.items())]),
        price=price,
        opening=opened,
        in_use=mask,
        durable=nodes.durable,
        classes=kept,
        relations=tied,
        preferences=preferred,
        gangs=gangs(groups),
    )


def _related(
    nodes: Nodes, groups: tuple[Group, ...], seconds: float
) -> tuple[tuple[Group, ...], tuple[Relation, ...]]:
    """What ties the groups to each other; of as many groups as that can be said of in so many seconds."""
    while True:
        try:
            return groups, relations(nodes, groups, time.monotonic() + seconds)
        except OutOfTimeError:
            about_others = [
                each for each in groups if each.pod.affinity or each.pod.anti_affinity or each.pod.spreads
            ]
            suspects = about_others or groups
            groups = _without(groups, suspects[len(suspects) // 2 :])


def _without(groups: tuple[Group, ...], dropped: Sequence[Group]) -> tuple[Group, ...]:
    """Nor the rest of their gangs."""
    if not dropped:
        return groups
    gone = {id(group) for group in dropped}
    incomplete = {(each.pod.namespace, each.pod.gang) for each in dropped if each.pod.gang}
    return tuple(
        each
        for each in groups
        if id(each) not in gone and (each.pod.namespace, each.pod.gang) not in incomplete
    )


def _groups(
    pods: Sequence[Pod],
    wanted: Mapping[str, Hints],
    snapshot: Snapshot,
    policy_of: PolicyOf,
    favour: Mapping[str, int],
    *,
    deadline: float,
) -> tuple[Group, ...]:
    """In two steps: pods equal in everything first, as that is quick; then without labels nobody asks for.

    The most urgent first, of equally urgent ones as they come.
    """
    equal: dict[tuple[Hashable, int], list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=lambda pod: (-pod.priority, -favour.get(pod.uid, 0))):
        equal[equality_key(pod), favour.get(pod.uid, 0)].append(pod)
    heads = [members[0] for members in equal.values()]
    policies = [policy_of(pod) for pod in heads]
    names = _Names(pods, heads, wanted)
    looks = _looks(heads, policies, snapshot)
    merged: dict[Hashable, Group] = {}
    late: set[tuple[str, str]] = set()  # gangs
    for ((_, favoured), members), policy in zip(equal.items(), policies, strict=True):
        if is_over(deadline):
            late.add((members[0].namespace, members[0].gang))
            continue
        for part in names.divide(members):
            first = part[0]
            key = (looks.at(first), policy.workload_class, favoured, names.of(first))
            if key in merged:
                merged[key].pods.extend(part)
            else:
                merged[key] = Group(list(part), policy, wanted[first.uid], favoured)
    groups = merged.values()
    return tuple(
        each for each in groups if not each.pod.gang or (each.pod.namespace, each.pod.gang) not in late
    )


class _Names:
    """Pods that hints speak of by name, or by a pattern of names: these are not equal to others."""

    def __init__(self, pods: Iterable[Pod], heads: Iterable[Pod], wanted: Mapping[str, Hints]) -> None:
        self._beside = {wanted[pod.uid].beside for pod in pods} - {""}
        self._patterns = frozenset[str]().union(*(wanted[pod.uid].conflicts for pod in heads))

    def of(self, pod: Pod) -> Hashable:
        if not (self._beside or self._patterns):
            return ()
        name = str(pod) if str(pod) in self._beside else ""
        return name, self._patterns.intersection(hints.patterns_of(pod) if self._patterns else ())

    def divide(self, members: list[Pod]) -> Iterable[list[Pod]]:
        if not (self._beside or self._patterns):
            return (members,)
        parts: dict[Hashable, list[Pod]] = defaultdict(list)
        for pod in members:
            parts[self.of(pod)].append(pod)
        return parts.values()


class _Looks(NamedTuple):
    """What tells pods apart, as far as any rule looks at it."""

    label_keys: frozenset[str]
    counted: frozenset[str]  # controllers and workloads of which some rule or hint counts the pods

    def at(self, pod: Pod) -> Hashable:
        return (
            tuple(sorted((key, value) for key, value in pod.labels.items() if key in self.label_keys)),
            "" if self.counted.isdisjoint((workload(pod), pod.workload)) else workload(pod),
            own_terms(pod),
            pod.affinity,
            pod.anti_affinity,
            pod.spreads,
            pod.gang,
        )


def _looks(heads: Sequence[Pod], policies: Sequence[Policy], snapshot: Snapshot) -> _Looks:
    keys = label_keys(heads)
    counted = {workload(pod) for pod in heads if not pod.annotations.keys().isdisjoint(hints.PER_WORKLOAD)}
    spread = zip(heads, policies, strict=True)
    counted |= {workload(pod) for pod, policy in spread if policy.placement == "spread"}
    for rule, subject in pod_filters(policies):
        pods = [heads[index] for index in subject]
        keys.update(rule.label_keys(pods, snapshot.nodes.cluster))
        counted |= {pod.workload for pod in pods if rule.counts_workload(pod)}
    return _Looks(frozenset(keys), frozenset(counted))


def equality_key(pod: Pod) -> Hashable:
    return (
        pod.namespace,
        tuple(pod.labels.items()),
        hints.requested(pod),
        tuple(pod.requests.items()),
        tuple(pod.limits.items()),
        pod.priority,
        pod.priority_class,
        pod.owner,
        tuple(pod.node_selector.items()),
        pod.node_terms,
        pod.volume_terms,
        pod.preferred_nodes,
        pod.preferred_pods,
        pod.preferred_spreads,
        pod.tolerations,
        pod.host_ports,
        pod.affinity,
        pod.anti_affinity,
        pod.spreads,
        pod.gang,
    )
