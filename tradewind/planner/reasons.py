"""Why a pod has no place: the constraint without which it would have one, and who is in its way."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.pod_filter import PodFilter
from scoring.rules import ResourceFilter
from tradewind.planner.batch import Batch
from tradewind.planner.deadline import NEVER, is_over
from tradewind.planner.greedy import place
from tradewind.planner.problem import Assignment, Gang, Mask
from tradewind.planner.relations.relation import Tally
from tradewind.planner.state import State
from tradewind.planner.takers import Takers
from tradewind.planner.terms import other_accounts

_UNKNOWN = "there was no time to find a place for it, or the reason why there is none"


class Proof(StrEnum):
    """What is known of plans that would place more."""

    NONE = ""
    BEST = "; it is proved that no plan for these pods is better while all that is bound stays where it is"
    FULL = "; it is proved that no plan places all of these pods while all that is bound stays where it is"
    OPEN = "; it is not proved that no plan places all of these pods"


class _Constraint(NamedTuple):
    text: str
    passed: Mask  # (N,)
    resource: str = ""  # that is short
    tied_to: frozenset[int] = frozenset()  # classes that the relation is about
    apart: bool = False  # from pods that are on nodes


def reasons(
    batch: Batch, assignment: Assignment, proof: Proof = Proof.NONE, deadline: float = NEVER
) -> dict[str, str]:
    """By namespace/name, for each pod of the batch that the assignment leaves out."""
    if sum(assignment.values()) == batch.problem.pods:
        return {}
    state = State(batch.problem).load(assignment)
    told = _Reasons(batch, Takers(batch, assignment))
    found: dict[str, str] = {}
    for index, left in enumerate(state.left):
        if left:
            reason = _UNKNOWN if is_over(deadline) else f"{told.of(state, index)}{proof}"
            for pod in batch.groups[index].pods[len(batch.groups[index].pods) - left :]:
                found[str(pod)] = reason
    return found


class _Reasons:
    def __init__(self, batch: Batch, takers: Takers) -> None:
        self._batch = batch
        self._takers = takers
        self._of_gang: dict[str, str] = {}

    def of(self, state: State, index: int) -> str:
        exhausted = next((text for tally in state.ties[index] if (text := tally.exhausted())), "")
        if exhausted:
            return exhausted
        gang = next((each for each in self._batch.problem.gangs if index in each.classes), None)
        if gang is None:
            return self._blocking(state, index)
        if gang.name not in self._of_gang:
            self._of_gang[gang.name] = self._gang(state, gang)
        return self._of_gang[gang.name]

    def _gang(self, state: State, gang: Gang) -> str:
        """For how many there is room, and what the next one lacks."""
        classes = self._batch.problem.classes
        trial = State(self._batch.problem).load(state.assignment)
        for index in sorted(gang.classes):
            place(trial, index)
        waiting = sum(classes[index].count for index in gang.classes)
        text = f"gang {gang.name} needs {gang.min_pods} of {waiting} waiting pods placed together"
        short = next((index for index in sorted(gang.classes) if trial.left[index]), None)
        if short is None:
            return f"{text}; there is room for them, but not together with all other pods of the batch"
        room = waiting - sum(trial.left[index] for index in gang.classes)
        return f"{text}; there is room for {room or 'none'} of them; {self._blocking(trial, short)}"

    def _blocking(self, state: State, index: int) -> str:
        """Drop one constraint at a time; where no single one decides, those that turn most nodes away."""
        nodes = len(self._batch.problem.node_names)
        if not nodes:
            return "the cluster has no node"
        constraints = list(_constraints(self._batch, state, index))
        passed = np.array([each.passed for each in constraints])
        if passed.all(axis=0).any():
            return self._tied(index)
        without: list[Mask] = [
            np.asarray(np.delete(passed, number, axis=0).all(axis=0)) for number in range(len(constraints))
        ]
        alone = [number for number, others in enumerate(without) if others.any()]
        if not alone:
            return self._several(constraints, nodes)
        alone.sort(key=lambda number: -int(without[number].sum()))
        text = " or ".join(
            f"{constraints[number].text} ({np.count_nonzero(~constraints[number].passed)} of {nodes} nodes; "
            f"{np.count_nonzero(without[number])} would do without this)"
            for number in alone
        )
        first = alone[0]
        return "; ".join(
            filter(None, [text, *self._in_the_way(state, index, constraints[first], without[first])])
        )

    def _in_the_way(self, state: State, index: int, lacking: _Constraint, rows: Mask) -> Iterator[str]:
        if lacking.resource:
            takers = self._takers.of(lacking.resource, rows)
            yield f"most of it is taken by {takers}" if takers else ""
            if not state.ties[index]:
                yield self._takers.more_nodes(index, state.left[index], rows)
            return
        if lacking.apart:
            takers = self._takers.apart_from(self._batch.groups[index].pod, rows)
        else:
            takers = self._takers.among(lacking.tied_to)
        yield f"in its way: {takers}" if takers else ""

    def _tied(self, index: int) -> str:
        """A node would take it now, were it not for the order of others."""
        sources = {each.source for each in self._batch.problem.relations if index in each.members()}
        others = self._takers.among(
            other
            for each in self._batch.problem.relations
            if index in each.members()
            for other in each.members() - {index}
        )
        if not sources:
            return "there is room, but no plan with a place for it was found in time"
        beside = f"; in its way: {others}" if others else ""
        return f"there is room, but not for one more by {' and '.join(sorted(sources))}{beside}"

    @staticmethod
    def _several(constraints: Sequence[_Constraint], nodes: int) -> str:
        counts = [(int(np.count_nonzero(~each.passed)), each.text) for each in constraints]
        return "; ".join(
            f"{text} ({count} of {nodes} nodes)" for count, text in sorted(counts)[::-1] if count
        )


def _constraints(batch: Batch, state: State, index: int) -> Iterator[_Constraint]:
    group = batch.groups[index]
    nodes = batch.snapshot.nodes
    for rule in group.filters():
        judge = rule.attainable if isinstance(rule, PodFilter) else rule.feasible
        passed = judge(group.pod, nodes)
        if not isinstance(rule, ResourceFilter):
            apart = isinstance(rule, PodAntiAffinity)
            yield _Constraint(f"{rule.name}: {rule.reason}", passed, apart=apart)
    yield from _resources(batch, state, index)
    yield from _relations(state, index)


def _resources(batch: Batch, state: State, index: int) -> Iterator[_Constraint]:
    nodes = batch.snapshot.nodes
    others = list(other_accounts(batch.groups, nodes))
    for account, (need, rule) in batch.groups[index].needs(nodes).items():
        resource = account.resource
        row = nodes.resource_rows.get(resource)
        if account in others:
            free = state.free[len(nodes.resource_rows) + others.index(account)]
        else:
            free = state.free[row] if row is not None else np.full(len(nodes), -1)
        total = nodes.allocatable[row] * (account.overcommit or 1) if row is not None else np.zeros(1)
        more = "more than any node has" if bool((total < need).all()) else rule.reason
        short = resource if more == rule.reason and not account.overcommit else ""
        yield _Constraint(f"{rule.name}: {resource}: {more}", free >= need, short)


def _relations(state: State, index: int) -> Iterator[_Constraint]:
    by_source = defaultdict[str, list[Tally]](list)
    members = defaultdict[str, set[int]](set)
    for relation, tally in zip(state.problem.relations, state.tallies, strict=True):
        if index in relation.members():
            by_source[relation.source].append(tally)
            members[relation.source] |= relation.members()
    for source, tallies in by_source.items():
        passed = state.admitted(index, tallies)
        if not passed.all():
            yield _Constraint(source, passed, tied_to=frozenset(members[source]))
