"""A plan: where each waiting pod goes, in an order in which kube-scheduler can bind them, or why nowhere."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tradewind.planner.batch import Batch
from tradewind.planner.binding import Step
from tradewind.planner.waves import Wave, waves


class Placement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    pod: str  # namespace/name
    uid: str
    node: str
    wave: int  # all of one may be bound in any order, when all earlier ones are bound
    strict: bool = False  # of a gang: elsewhere it could take the place of one that it needs


@dataclass(frozen=True, kw_only=True)
class Plan:
    generation: int  # of the snapshot that it was made of
    placements: tuple[Placement, ...]  # in binding order
    unplaced: Mapping[str, str]  # namespace/name to the reason
    nodes_used: int  # with pods of their own after the plan, those of every node's own agents aside
    hourly_cost: float  # dollars, of these nodes
    engine: str  # which of the engines found it
    expires_at: float = math.inf  # seconds since 1970; the cluster will be another one then


def make_plan(
    batch: Batch,
    order: Sequence[Step],
    unplaced: Mapping[str, str],
    engine: str,
    expires_at: float = math.inf,
    *,
    in_waves: Sequence[Wave] | None = None,
) -> Plan:
    """`in_waves` is the order in waves, where these are known already."""
    taken = [0] * len(batch.groups)
    placements = []
    for number, wave in enumerate(waves(batch.problem, order) if in_waves is None else in_waves):
        for (index, row), count in wave:
            node = batch.problem.node_names[row]
            pods = batch.groups[index].pods[taken[index] : taken[index] + count]
            taken[index] += count
            placements += [
                Placement(pod=str(pod), uid=pod.uid, node=node, wave=number, strict=bool(pod.gang))
                for pod in pods
            ]
    used = batch.problem.in_use.copy()
    used[[step.row for step in order]] = True
    return Plan(
        generation=batch.snapshot.generation,
        placements=tuple(placements),
        unplaced=unplaced,
        nodes_used=int(np.count_nonzero(used)),
        hourly_cost=float(batch.problem.price[used].sum()),
        engine=engine,
        expires_at=expires_at,
    )
