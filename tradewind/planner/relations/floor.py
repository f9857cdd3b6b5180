from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tradewind.cluster.snapshot import Amounts
from tradewind.cluster.table import Mask
from tradewind.planner.relations.relation import Codes, ExactModel, Gate, Relation, Tally, WaveCheck


@dataclass(frozen=True, kw_only=True, eq=False)
class Floor(Relation):
    """Of a workload as many pods as `required` says are on durable nodes, or none of the batch is on spot."""

    ordered: ClassVar[bool] = True

    nodes: Mask  # (N,) durable ones
    classes: frozenset[int]
    durable: int  # placed before
    total: int
    required: tuple[int, ...]  # of so many pods, how many on durable nodes

    def members(self) -> frozenset[int]:
        return self.classes

    def tally(self) -> "_Floor":
        return _Floor(self)

    def met(self, durable: int, total: int) -> bool:
        return durable >= self.required[min(total, len(self.required) - 1)]


class _Floor(Tally):
    def __init__(self, relation: Floor) -> None:
        self._relation = relation
        self._durable, self._total = relation.durable, relation.total

    def count(self, index: int, rows: Codes | int, pods: Amounts | int) -> None:  # noqa: ARG002  all alike
        self._durable += int(np.sum(pods * self._relation.nodes[rows]))
        self._total += int(np.sum(pods))

    def admit(self, index: int, room: Amounts) -> None:  # noqa: ARG002  all alike
        spot = ~self._relation.nodes
        room[spot] = np.minimum(room[spot], int(self._relation.met(self._durable, self._total + 1)))

    def admit_across(self, index: int, room: Amounts) -> None:
        """Every spot node depends on all durable ones."""

    def gate(self, index: int) -> Gate | None:  # noqa: ARG002  all alike
        return _DurableFirst(self._relation, self._durable, self._total)

    def wave(self) -> WaveCheck:
        return _SpotFirst(self._relation, self._durable, self._total)

    def constrain(self, window: ExactModel) -> None:
        placed = window.placed(self._relation.classes)
        spot = [variable for row, variable in placed if not self._relation.nodes[row]]
        if not spot:
            return
        model, required = window.model, self._relation.required
        total = model.new_int_var(0, len(required) - 1, "")
        model.add(total == self._total + sum(variable for _, variable in placed))
        least = model.new_int_var(0, max(required), "")
        model.add_element(total, list(required), least)
        durable = self._durable + sum(variable for row, variable in placed if self._relation.nodes[row])
        model.add(durable >= least).only_enforce_if(window.any(spot))


class _DurableFirst:
    def __init__(self, relation: Floor, durable: int, total: int) -> None:
        self.places = relation.nodes.astype(np.intp)
        self._relation = relation
        self._durable, self._total = durable, total

    def shut(self, place: int) -> bool:
        return not place and not self._relation.met(self._durable, self._total + 1)

    def take(self, place: int) -> bool:
        self._durable += place
        self._total += 1
        return bool(place)


class _SpotFirst:
    """The worst order: all spot pods of the wave before any durable one."""

    def __init__(self, relation: Floor, durable: int, total: int) -> None:
        self._relation = relation
        self._durable, self._total = durable, total  # the total with spot pods of the wave

    def admit(self, index: int, row: int, pods: int) -> int:  # noqa: ARG002  all alike
        if self._relation.nodes[row]:
            return pods
        met = (n for n in range(pods, 0, -1) if self._relation.met(self._durable, self._total + n))
        return next(met, 0)

    def book(self, index: int, row: int, pods: int) -> None:  # noqa: ARG002  all alike
        if not self._relation.nodes[row]:
            self._total += pods
