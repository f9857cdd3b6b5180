"""Why a pod has no place: the constraint without which it would have one."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scoring.filters.durable_floor import DurableFloor
from scoring.filters.limits import Limits
from scoring.filters.pod_affinity import PodAffinity
from scoring.filters.pod_anti_affinity import PodAntiAffinity
from scoring.filters.resources import Resources
from scoring.filters.topology_spread import TopologySpread
from tradewind.planner import wishes
from tradewind.planner.batch import Batch
from tradewind.planner.problem import Assignment, Mask
from tradewind.planner.state import State

_CHANGING = (Resources, Limits, PodAffinity, TopologySpread, DurableFloor)

# What the relations of a batch are called to people.
_TIES = {
    "exclusion": PodAntiAffinity.reason,
    "attraction": PodAffinity.reason,
    "skew": TopologySpread.reason,
    "cap": "holding as many of the workload as its annotation allows",
    "floor": DurableFloor.reason,
}


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
    for choice, count in zip(batch.problem.choices, _placed(state, batch.problem.choices), strict=True):
        if index in choice.classes and count >= choice.most:
            return f"another of the alternatives {choice.name} has a place"
    constraints = list(_constraints(batch, state, index))
    reason = _blocking(constraints, len(batch.problem.node_names))
    for gang in batch.problem.gangs:
        if index in gang.classes:
            waiting = sum(batch.problem.classes[each].count for each in gang.classes)
            return f"gang {gang.name} needs {gang.least} of {waiting} waiting pods placed together; {reason}"
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
        if not isinstance(rule, _CHANGING):
            yield _Constraint(f"{rule.name}: {rule.reason}", rule.feasible(group.pod, nodes))
    table = nodes.cluster.table
    if group.wishes.node:
        yield _Constraint(
            f"{wishes.NODE}: not the node {group.wishes.node}",
            wishes.admitted(group.wishes._replace(node_labels=""), table),
        )
    if group.wishes.node_labels:
        yield _Constraint(
            f"{wishes.NODE_LABELS}: without the labels {group.wishes.node_labels}",
            wishes.admitted(group.wishes._replace(node=""), table),
        )
    yield from _resources(batch, state, index)
    for kind, text in _TIES.items():
        mask = state.tie_mask(index, kind)
        if not mask.all():
            yield _Constraint(f"{_rule_name(kind)}: {text}", mask)
    named = np.array(batch.problem.classes[index].allowed)
    for rule in group.filters():
        if not isinstance(rule, PodAffinity | TopologySpread | DurableFloor):
            named |= ~rule.feasible(group.pod, nodes)
    if not named.all():
        yield _Constraint("tradewind.dev annotations: not beside, or in conflict with, pods they name", named)


def _rule_name(kind: str) -> str:
    return {
        "exclusion": PodAntiAffinity.name,
        "attraction": PodAffinity.name,
        "skew": TopologySpread.name,
        "floor": DurableFloor.name,
    }.get(kind, "tradewind.dev annotations")


def _resources(batch: Batch, state: State, index: int) -> Iterator[_Constraint]:
    each = batch.problem.classes[index]
    nodes = batch.snapshot.nodes
    for resource, request in batch.groups[index].pod.requests.items():
        row = nodes.resource_rows.get(resource)
        if request <= 0:
            continue
        need = int(each.needs[row]) if row is not None else request
        rule = Limits if need > request else Resources
        free = state.free[row] if row is not None else np.full(len(nodes), -1)
        never = row is None or bool((nodes.allocatable[row] < need).all())
        more = "more than any node has" if never else rule.reason
        yield _Constraint(f"{rule.name}: {resource}: {more}", free >= need)


def _placed(state: State, choices: tuple[object, ...]) -> list[int]:
    return [state.choice_count(number) for number in range(len(choices))]
