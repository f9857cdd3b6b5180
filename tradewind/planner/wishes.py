"""What pods of a batch prefer about other pods, of the batch or placed before."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scoring.filters.topology_spread import counted, spread_domains
from scoring.topology import PodTable, SpreadDomains, matching, tally, term_keys, widened
from tradewind.cluster.constraints import PodTerm
from tradewind.cluster.objects import Pod
from tradewind.cluster.snapshot import Nodes
from tradewind.planner.deadline import is_over
from tradewind.planner.objective import FULL_WEIGHT
from tradewind.planner.problem import Amounts, Codes, PodClass
from tradewind.planner.relations.preference import Preference
from tradewind.planner.relations.soft_attraction import SoftAttraction
from tradewind.planner.relations.soft_exclusion import SoftExclusion
from tradewind.planner.terms import Group


def label_keys(pods: Iterable[Pod]) -> set[str]:
    """Labels that preferences look at: pods that differ in one are of two classes."""
    pods = list(pods)
    spreads = {spread.selector for pod in pods for spread in pod.preferred_spreads}
    keys = term_keys(each.term for pod in pods for each in pod.preferred_pods)
    return keys.union(each.key for selector in spreads for each in selector or ())


def preferences(
    nodes: Nodes,
    groups: Sequence[Group],
    classes: Sequence[PodClass],
    *,
    most_members: int,
    deadline: float,
) -> tuple[tuple[PodClass, ...], tuple[Preference, ...]]:
    """The classes, whose costs now have what no other pod of the batch changes; and the rest.

    With more members than that, or past the deadline, further preferences are left out.
    """
    kept, found = list(classes), list[Preference]()
    terms = _Terms(nodes, groups, classes)
    for index, group in enumerate(groups):
        for each in terms.of(index) if group.policy.placement == "pack" else ():
            if is_over(deadline):
                return tuple(kept), tuple(found)
            if each.members() == {index} and not (each.itself and classes[index].count > 1):
                more = each.tally().marginal(index)  # the same whatever else is placed
                kept[index] = replace(kept[index], cost=kept[index].cost + more - more.min(initial=np.inf))
                continue
            most_members -= len(each.members())
            if most_members < 0:
                return tuple(kept), tuple(found)
            found.append(each)
    return tuple(kept), tuple(found)


class _Seen(NamedTuple):
    """What a term speaks of."""

    codes: Codes
    existing: Amounts
    counted: frozenset[int]


class _Terms:
    def __init__(self, nodes: Nodes, groups: Sequence[Group], classes: Sequence[PodClass]) -> None:
        self._cluster = nodes.cluster
        self._rows = nodes.rows
        self._classes = classes
        self._pods = [group.pod for group in groups]
        self._table = PodTable(self._pods)
        self._seen: dict[PodTerm, _Seen] = {}
        self._bearers = defaultdict[Hashable, set[int]](
            set
        )  # by what they want, those that want it of each other

    def of(self, index: int) -> Iterator[Preference]:
        pod, wish = self._pods[index], self._classes[index].wish
        if not wish:
            return
        for each in pod.preferred_pods:
            kind = SoftAttraction if each.weight > 0 else SoftExclusion
            codes, existing, counted_classes = self._of_term(widened(each.term))
            if each.weight < 0:
                counted_classes = self._once(each.term, index, counted_classes)
            if existing.any() or counted_classes:
                yield kind(
                    codes=codes,
                    existing=existing,
                    bearer=index,
                    counted=counted_classes,
                    dollars=wish * abs(each.weight) / FULL_WEIGHT,
                )
        for spread, domains in spread_domains(pod.preferred_spreads, pod, self._cluster, comparisons=False):
            counted_classes = counted(spread, pod, self._table, self._cluster)
            yield self._spread(index, domains, self._once((pod.namespace, spread), index, counted_classes))

    def _once(self, term: Hashable, index: int, counted_classes: frozenset[int]) -> frozenset[int]:
        """Without classes that have the same term: a pair of pods that mind each other pays once."""
        bearers = self._bearers[term]
        if index not in counted_classes:
            return counted_classes
        before = frozenset(bearers)
        bearers.add(index)
        return counted_classes - before

    def _spread(self, index: int, domains: SpreadDomains, counted_classes: frozenset[int]) -> SoftExclusion:
        """A node without the labels of the constraints is worse than others, as in kube-scheduler."""
        wish = self._classes[index].wish
        pods = sum(self._classes[each].count for each in counted_classes)
        return SoftExclusion(
            codes=domains.counting[self._rows],
            existing=domains.existing,
            bearer=index,
            counted=counted_classes,
            dollars=wish,
            outside=wish * (int(domains.existing.max(initial=0)) + pods),
        )

    def _of_term(self, term: PodTerm) -> _Seen:
        if term not in self._seen:
            domains = self._cluster.table.domains(term.topology_key)
            placed = tally(self._cluster, matching(self._cluster, term), domains.codes, len(domains.values))
            selected = self._table.selected(self._cluster, term)
            self._seen[term] = _Seen(domains.codes[self._rows], placed, selected)
        return self._seen[term]
