"""The waiting pods of a cluster, grouped into classes of equals, and the problem that they make."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scoring.policy import Policy
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.objects import Pod
from tradewind.cluster.selectors import Selector
from tradewind.cluster.snapshot import Snapshot
from tradewind.planner import wishes
from tradewind.planner.problem import Problem
from tradewind.planner.relations import has_floor, relations, workload
from tradewind.planner.terms import Group, own_terms, pod_classes, prices, worth
from tradewind.planner.wishes import Wishes

PolicyOf = Callable[[Pod], Policy]

# Pods that every node of a pool has: a node with nothing else on it could be given back.
_NODES_OWN = frozenset({"DaemonSet", "Node"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    snapshot: Snapshot  # without the pods that are to be replaced
    groups: tuple[Group, ...]  # one for each class of the problem
    refused: Mapping[str, str]  # pods that no plan is made for, by namespace/name, and why
    problem: Problem


def make_batch(
    snapshot: Snapshot, pods: Sequence[Pod], policy_of: PolicyOf, favour: Mapping[str, int] | None = None
) -> Batch:
    """All pods of the cluster: those on nodes, and those that wait for one.

    `favour` by UID: among pods of equal priority the higher goes first; 0 where nothing is said.
    """
    standing = [pod for pod in pods if pod.node_name and not pod.finished]
    waiting = [pod for pod in pods if not (pod.node_name or pod.finished or pod.deleting)]
    asked, refused = _read_wishes(waiting)
    pointing = any(each.replaces or each.beside for each in asked.values())
    placed = {str(pod): pod for pod in standing} if pointing else {}  # only these ask for pods by name
    replaced = {asked[pod.uid].replaces: str(pod) for pod in waiting if asked[pod.uid].replaces}
    refused |= _pointless(waiting, asked, replaced, placed)
    refused |= _torn(waiting, asked, refused)
    snapshot = snapshot.without(placed[name] for name in replaced if name in placed)
    staying = [pod for pod in standing if str(pod) not in replaced] if replaced else standing
    if refused:
        waiting = [pod for pod in waiting if str(pod) not in refused]
    groups = _groups(waiting, asked, snapshot, policy_of, favour or {})
    problem = _problem(snapshot, groups, staying, placed)
    return Batch(snapshot=snapshot, groups=groups, refused=refused, problem=problem)


def _read_wishes(pods: Iterable[Pod]) -> tuple[dict[str, Wishes], dict[str, str]]:
    """By UID; and by namespace/name what is wrong with those that cannot be read."""
    asked: dict[str, Wishes] = {}
    refused: dict[str, str] = {}
    for pod in pods:
        try:
            asked[pod.uid] = wishes.read(pod)
        except wishes.WishError as error:
            asked[pod.uid] = wishes.NOTHING
            refused[str(pod)] = str(error)
    return asked, refused


def _pointless(
    waiting: Sequence[Pod],
    asked: Mapping[str, Wishes],
    replaced: Mapping[str, str],
    placed: Mapping[str, Pod],
) -> dict[str, str]:
    """Pods whose place another takes, or that ask for the place of one that is not there."""
    asking = [pod for pod in waiting if asked[pod.uid].replaces or asked[pod.uid].beside]
    if not asking:
        return {}
    known = placed.keys() | {str(pod) for pod in waiting}
    found = {str(pod): f"replaced by {replaced[str(pod)]}" for pod in waiting if str(pod) in replaced}
    for pod in asking:
        for name in (asked[pod.uid].replaces, asked[pod.uid].beside):
            if name and name not in known:
                found[str(pod)] = f"asks for the node of {name}, which is not there"
    return found


def _torn(pods: Iterable[Pod], asked: Mapping[str, Wishes], refused: Mapping[str, str]) -> Mapping[str, str]:
    """Pods of gangs that are all or nothing, and of which one is refused."""
    gangs: dict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.gang:
            gangs[pod.namespace, pod.gang].append(pod)
    found: dict[str, str] = {}
    for (_, name), members in gangs.items():
        missing = next((str(pod) for pod in members if str(pod) in refused), None)
        if missing and not any(asked[pod.uid].gang_min for pod in members):
            reason = f"gang {name} needs {missing}: {refused[missing]}"
            found |= {str(pod): reason for pod in members if str(pod) not in refused}
    return found


def _problem(
    snapshot: Snapshot, groups: Sequence[Group], staying: Sequence[Pod], placed: Mapping[str, Pod]
) -> Problem:
    nodes = snapshot.nodes
    in_use = [pod.node_name for pod in staying if pod.owner is None or pod.owner.kind not in _NODES_OWN]
    used = nodes.cluster.table.rows(set(in_use))
    mask = nodes.durable.copy()
    mask[:] = False
    mask[used] = True
    price = prices(nodes)
    classes = pod_classes(groups, nodes, price, staying, placed)
    ties = relations(nodes, groups, staying)
    return Problem(
        node_names=tuple(nodes.names),
        free=nodes.free,
        price=price,
        in_use=mask,
        durable=nodes.durable,
        classes=classes,
        worth=worth(classes),
        **ties,
    )


def _groups(
    pods: Sequence[Pod],
    asked: Mapping[str, Wishes],
    snapshot: Snapshot,
    policy_of: PolicyOf,
    favour: Mapping[str, int],
) -> tuple[Group, ...]:
    """In two steps: pods equal in everything first, as that is quick; then without labels nobody asks for."""
    equal: dict[tuple[Hashable, int], list[Pod]] = defaultdict(list)
    for pod in pods:
        equal[_everything(pod), favour.get(pod.uid, 0)].append(pod)
    heads = [members[0] for members in equal.values()]
    policies = [policy_of(pod) for pod in heads]
    counted = _counted_workloads(heads, policies)
    keys = _label_keys(heads, snapshot)
    patterns = sorted({pattern for pod in heads for pattern in asked[pod.uid].conflicts})
    named = Counter(asked[pod.uid].beside for pod in pods)
    merged: dict[Hashable, Group] = {}
    for ((_, favoured), members), policy in zip(equal.items(), policies, strict=True):
        for part in _apart(members, named, patterns):
            first = part[0]
            names = str(first) if str(first) in named else ""
            hit = tuple(pattern for pattern in patterns if wishes.hits([pattern], first))
            whose = workload(first) if workload(first) in counted else ""
            key = (_what_counts(first, keys), policy.workload_class, favoured, names, hit, whose)
            group = merged.get(key)
            if group is None:
                merged[key] = Group(list(part), policy, asked[first.uid], favoured)
            else:
                group.pods.extend(part)
    return tuple(merged.values())


def _counted_workloads(pods: Sequence[Pod], policies: Sequence[Policy]) -> frozenset[str]:
    """Those of which some rule asks how many pods are where; the pods of any others are like each other's."""
    return frozenset(
        workload(pod)
        for pod, policy in zip(pods, policies, strict=True)
        if not pod.annotations.keys().isdisjoint(wishes.OF_A_WORKLOAD)
        or (pod.owner and has_floor(pod, policy))
    )


def _apart(members: list[Pod], named: Mapping[str, int], patterns: Sequence[str]) -> Iterable[list[Pod]]:
    """Equal pods, divided only where something speaks of them by name."""
    if not (patterns or any(named)):
        return (members,)
    parts: dict[Hashable, list[Pod]] = defaultdict(list)
    for pod in members:
        hit = tuple(pattern for pattern in patterns if wishes.hits([pattern], pod))
        parts[(str(pod) if str(pod) in named else "", hit)].append(pod)
    return parts.values()


def _everything(pod: Pod) -> Hashable:
    return (
        pod.namespace,
        tuple(pod.labels.items()),
        wishes.asking(pod),
        tuple(pod.requests.items()),
        tuple(pod.limits.items()),
        pod.priority,
        pod.priority_class,
        pod.owner,
        tuple(pod.node_selector.items()),
        pod.node_terms,
        pod.tolerations,
        pod.host_ports,
        pod.affinity,
        pod.anti_affinity,
        pod.spreads,
        pod.gang,
    )


def _what_counts(pod: Pod, label_keys: frozenset[str]) -> Hashable:
    return (
        tuple(sorted((key, value) for key, value in pod.labels.items() if key in label_keys)),
        own_terms(pod),
        pod.affinity,
        pod.anti_affinity,
        pod.spreads,
        pod.gang,
    )


def _label_keys(pods: Iterable[Pod], snapshot: Snapshot) -> frozenset[str]:
    """Labels of pods that some rule looks at."""
    terms = set[PodTerm]()
    selectors = set[Selector | None]()
    for pod in pods:
        terms.update(pod.affinity, pod.anti_affinity)
        selectors.update(spread.selector for spread in pod.spreads)
    for group in snapshot.nodes.cluster.placed.groups:
        terms.update(group.anti_affinity)
    selectors.update(term.selector for term in terms)
    return frozenset(each.key for selector in selectors for each in selector or ())
