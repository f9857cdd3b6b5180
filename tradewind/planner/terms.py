"""On what terms the pods of a class may go to each node: allowed or not, and at what cost."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.filters.leaving import Leaving
from scoring.in_tree import IN_TREE, in_tree
from scoring.pod_filter import PodFilter
from scoring.policy import Policy
from scoring.rules import Account, Filter, ResourceFilter
from tradewind.cluster import hints
from tradewind.cluster.hints import Hints
from tradewind.cluster.names import ANNOTATION_PREFIX
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.deadline import NEVER, is_over
from tradewind.planner.objective import pod_cost, spread, wish
from tradewind.planner.problem import Amounts, Floats, Mask, PodClass
from tradewind.planner.rent import Rent

_IN_TREE_NAMES = frozenset(rule.name for rule in IN_TREE)


@dataclass(frozen=True, eq=False)
class Group:
    """The pods of a class, the first of which speaks for all."""

    pods: list[Pod]
    policy: Policy
    hints: Hints
    favour: int = 0

    @property
    def pod(self) -> Pod:
        return self.pods[0]

    def filters(self) -> tuple[Filter, ...]:
        """All that holds for a pod of the class, kube-scheduler's own rules first."""
        return (*in_tree(self.policy.filters), Leaving(), *_ours(self.policy))

    def needs(self, nodes: Nodes) -> dict[Account, tuple[int, ResourceFilter]]:
        """What a pod of the class takes from each account, and the filter that keeps it."""
        return {
            account: (amount, rule)
            for rule in self.filters()
            if isinstance(rule, ResourceFilter)
            for account, amount in rule.needs(self.pod, nodes).items()
        }


def pod_filters(policies: Sequence[Policy]) -> list[tuple[PodFilter, frozenset[int]]]:
    """The filters over other pods that are in force, each with the numbers of the policies that have it."""
    found: list[tuple[PodFilter, set[int]]] = [
        (rule, set(range(len(policies)))) for rule in in_tree(()) if isinstance(rule, PodFilter)
    ]
    for number, policy in enumerate(policies):
        for rule in _ours(policy):
            if isinstance(rule, PodFilter):
                known = next((numbers for other, numbers in found if other == rule), None)
                if known is None:
                    found.append((rule, {number}))
                else:
                    known.add(number)
    return [(rule, frozenset(numbers)) for rule, numbers in found]


def _ours(policy: Policy) -> list[Filter]:
    return [rule for rule in policy.filters if rule.name not in _IN_TREE_NAMES]


def other_accounts(groups: Sequence[Group], nodes: Nodes) -> dict[Account, ResourceFilter]:
    """Those beside the requests: one more row of the problem each, after those of the resources.

    A class takes only from accounts of its own policy. So a plan may let the limits of pods of other classes
    exceed one of them; the filter has the last word.
    """
    needs = [each for group in groups for each in group.needs(nodes).items()]
    return {account: rule for account, (_, rule) in needs if account.overcommit}


def pod_classes(
    groups: Sequence[Group],
    nodes: Nodes,
    price: Floats,
    *,
    rent: Rent,
    deadline: float = NEVER,
) -> tuple[PodClass, ...]:
    """One for each group, or for the first of them, those that are done by the deadline.

    Those that differ only in what ties them to other pods share their columns.
    """
    shared: dict[Hashable, _Columns] = {}
    others = list(other_accounts(groups, nodes))
    found = []
    for group in groups:
        if is_over(deadline):
            break
        key = _apart_from_ties(group)
        columns = shared.get(key)
        if columns is None:
            columns = shared[key] = _columns(group, nodes, price, others, rent)
        allowed = _allowed(group, nodes, columns.allowed)
        cost, step = columns.cost, 0.0
        if group.policy.placement == "spread":
            cost, step = spread(group.pod, nodes, price, columns.share, cost=cost, allowed=allowed)
        found.append(
            PodClass(
                count=len(group.pods),
                requests=columns.requests,
                allowed=allowed,
                cost=cost,
                step=step,
                priority=group.pod.priority,
                share=columns.share,
                favour=group.favour,
                wish=columns.wish,
            )
        )
    return tuple(found)


class _Columns(NamedTuple):
    requests: Amounts
    allowed: Mask  # by the pod and the node alone
    cost: Floats
    share: Floats
    wish: float


def _apart_from_ties(group: Group) -> Hashable:
    """All that scorers and filters look at, but for each `PodFilter`; tests hold them to it."""
    return id(group.policy), own_terms(group.pod)


def own_terms(pod: Pod) -> Hashable:
    """All that a pod asks for, but for where other pods are."""
    return (
        pod.namespace,
        tuple(sorted(hints.requested(pod))),
        tuple(sorted(item for item in pod.labels.items() if item[0].startswith(ANNOTATION_PREFIX))),
        tuple(sorted(pod.requests.items())),
        tuple(sorted(pod.limits.items())),
        pod.priority,
        pod.owner and pod.owner.kind,
        tuple(sorted(pod.node_selector.items())),
        pod.node_terms,
        pod.volume_terms,
        pod.preferred_nodes,
        pod.preferred_pods,
        pod.preferred_spreads,
        pod.tolerations,
        pod.host_ports,
    )


def _columns(group: Group, nodes: Nodes, price: Floats, others: Sequence[Account], rent: Rent) -> _Columns:
    needs = {account: amount for account, (amount, _) in group.needs(nodes).items()}
    requests = _amounts(needs, nodes)
    share = _share(requests, nodes)
    taken = [needs.get(account, 0) for account in others]
    mask = np.ones(len(nodes), np.bool_)
    for rule in group.filters():
        if not isinstance(rule, PodFilter):
            mask &= rule.feasible(group.pod, nodes)
    requests = np.concatenate([requests, np.array(taken, np.int64)])
    cost = np.zeros(len(nodes))  # where it may not go, whatever
    rows = np.flatnonzero(mask)
    candidates = nodes if rows.size == len(nodes) else nodes.take(rows)
    cost[rows] = pod_cost(group.pod, group.policy, candidates, price[rows], share[rows], rent=rent)
    return _Columns(requests, mask, cost, share, wish(group.policy, price[rows], share[rows]))


def prices(nodes: Nodes) -> Floats:
    """(N,) dollars an hour; a node of unknown price costs the median, and 1 where no price is known."""
    known = nodes.price[~np.isnan(nodes.price)]
    median = float(np.median(known)) if known.size else 1.0
    return np.where(np.isnan(nodes.price), median, nodes.price)


def opening(price: Floats, rent: Rent) -> Floats:
    """(N,) dollars an hour that opening each node counts for.

    Pods to come will use what a batch leaves free there, so a node and its size say less against it.
    """
    if not (rent.at_median and price.size):
        return rent.opening * price
    return rent.opening * (price + rent.at_median * (float(np.median(price)) - price))


def _amounts(needs: Mapping[Account, int], nodes: Nodes) -> Amounts:
    amounts = np.zeros(len(nodes.free), np.int64)
    for account, request in needs.items():
        row = nodes.resource_rows.get(account.resource)
        if row is not None and not account.overcommit:
            amounts[row] = request
    return amounts


def _allowed(group: Group, nodes: Nodes, alone: Mask) -> Mask:
    """`alone` itself where nothing more is forbidden."""
    mask = alone.copy()
    for rule in group.filters():
        if isinstance(rule, PodFilter):
            mask &= rule.attainable(group.pod, nodes)
    return alone if np.array_equal(mask, alone) else mask


def _share(requests: Amounts, nodes: Nodes) -> Floats:
    """(N,) the largest share of any resource that one pod takes of a node."""
    share = np.zeros(len(nodes))
    for row in np.flatnonzero(requests):
        total = nodes.allocatable[row]
        taken = np.divide(requests[row], total, out=np.ones(len(nodes)), where=total > 0)
        np.maximum(share, taken, out=share)
    return np.minimum(share, 1, out=share)
