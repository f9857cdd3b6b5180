"""Why a pod has no place: the constraint without which it would have one."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scoring.pod_filter import PodFilter
from scoring.rules import ResourceFilter
from tradewind.planner.batch import Batch
from tradewind.planner.problem import Assignment, Mask
from tradewind.planner.relations.relation import Tally
from tradewind.planner.state import State
from tradewind.planner.terms import other_accounts


class _Constraint(NamedTuple):
    text: str
    passed: Mask  # (N,)


def reasons(batch: Batch, assignment: Assignment) -> dict[str, str]:
    """By namespace/name, for each pod of the batch that the assignment leaves out."""
    if sum(assignment.values()) == batch.problem.pods:
        return {}
    state = State(batch.problem).load(assignment)
    found: dict[str, str] = {}
    for index, left in enumerate(state.left):
        if left:
            reason = _reason(batch, state, index)
            for pod in batch.groups[index].pods[len(batch.groups[index].pods) - left :]:
                found[str(pod)] = reason
    return found


def _reason(batch: Batch, state: State, index: int) -> str:
    exhausted = next((text for tally in state.ties[index] if (text := tally.exhausted())), "")
    if exhausted:
        return exhausted
    constraints = list(_constraints(batch, state, index))
    reason = _blocking(constraints, len(batch.problem.node_names))
    for gang in batch.problem.gangs:
        if index in gang.classes:
            waiting = sum(batch.problem.classes[each].count for each in gang.classes)
            return (
                f"gang {gang.name} needs {gang.min_pods} of {waiting} waiting pods placed together; {reason}"
            )
    return reason


def _blocking(constraints: list[_Constraint], nodes: int) -> str:
    """Drop one constraint at a time; where no single one decides, those that turn most nodes away."""
    if not nodes:
        return "the cluster has no node"
    passed = np.array([each.passed for each in constraints])
    if passed.all(axis=0).any():
        return "there is room, but not together with all other pods of the batch"
    alone = []
    for number, each in enumerate(constraints):
        others = int(np.delete(passed, number, axis=0).all(axis=0).sum())
        if others:
            alone.append((others, each))
    if alone:
        return " or ".join(
            f"{each.text} ({np.count_nonzero(~each.passed)} of {nodes} nodes; {others} would do without this)"
            for others, each in sorted(alone, key=lambda item: -item[0])
        )
    counts = [(int(np.count_nonzero(~each.passed)), each.text) for each in constraints]
    return "; ".join(f"{text} ({count} of {nodes} nodes)" for count, text in sorted(counts)[::-1] if count)


def _constraints(batch: Batch, state: State, index: int) -> Iterator[_Constraint]:
    group = batch.groups[index]
    nodes = batch.snapshot.nodes
    for rule in group.filters():
        judge = rule.attainable if isinstance(rule, PodFilter) else rule.feasible
        passed = judge(group.pod, nodes)
        if not isinstance(rule, ResourceFilter):
            yield _Constraint(f"{rule.name}: {rule.reason}", passed)
    yield from _resources(batch, state, index)
    yield from _relations(state, index)


def _resources(batch: Batch, state: State, index: int) -> Iterator[_Constraint]:
    nodes = batch.snapshot.nodes
    others = list(other_accounts(batch.groups))
    for account, (need, rule) in batch.groups[index].needs().items():
        resource = account.resource
        row = nodes.resource_rows.get(resource)
        if account in others:
            free = state.free[len(nodes.resource_rows) + others.index(account)]
        else:
            free = state.free[row] if row is not None else np.full(len(nodes), -1)
        total = nodes.allocatable[row] * (account.overcommit or 1) if row is not None else np.zeros(1)
        more = "more than any node has" if bool((total < need).all()) else rule.reason
        yield _Constraint(f"{rule.name}: {resource}: {more}", free >= need)


def _relations(state: State, index: int) -> Iterator[_Constraint]:
    by_source = defaultdict[str, list[Tally]](list)
    for relation, tally in zip(state.problem.relations, state.tallies, strict=True):
        if index in relation.members():
            by_source[relation.source].append(tally)
    for source, tallies in by_source.items():
        passed = state.admitted(index, tallies)
        if not passed.all():
            yield _Constraint(source, passed)
